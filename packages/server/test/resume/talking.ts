// A client as a process that can be stopped: `tsx talking.ts <url> <carrier>:<tag> …`. Says "begun" when every conversation has heard
// something, and when all are over what came of each.
import { type Carrier, HASTY, runConversation, texts } from "./run-conversation.js";

const [url, ...named] = process.argv.slice(2) as [string, ...string[]];
const connection = { ...HASTY, baseUrl: url, random: () => 0.1 };

/** An array that tells when the first message is there. */
function heard(): { got: string[]; first: Promise<void> } {
  let tell = () => {};
  const first = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const got: string[] = [];
  got.push = (text) => {
    tell();
    return Array.prototype.push.call(got, text);
  };
  return { got, first };
}

const talking = named.map((one) => {
  const [carrier, tag] = one.split(":") as [Carrier, string];
  const { got, first } = heard();
  const over = runConversation[carrier](connection, tag, texts(tag), got).then(
    () => undefined,
    ({ name, code, missing }: { name: string; code?: string; missing?: unknown }) => ({ name, code, missing }),
  );
  return {
    begun: Promise.race([first, over]),
    outcome: async () => ({ tag, error: await over, heard: got.length, right: right(tag, got) }),
  };
});

/** Whether what was received is the beginning of what is sent, in order. */
function right(tag: string, got: readonly string[]): boolean {
  const wanted = texts(tag);
  return got.every((text, i) => text === wanted[i]);
}

await Promise.all(talking.map(({ begun }) => begun));
console.log("begun");
console.log(JSON.stringify(await Promise.all(talking.map(({ outcome }) => outcome()))));
process.exit(0);
