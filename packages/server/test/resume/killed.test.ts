import { expect, it, onTestFinished, vi } from "vitest";
import { run } from "./child.js";
import { proxy } from "./proxy.js";
import { type Carrier, GREETINGS, HASTY, runConversation, texts } from "./run-conversation.js";

it("the clients of a server that is killed and started again without its memory get what is missing in their error, on every carrier", async () => {
  const script = new URL("./serving.ts", import.meta.url);
  const first = run(script);
  let port = Number(await first.line());
  const between = await proxy(
    () => port,
    () => undefined,
  );
  onTestFinished(() => between.close());
  const connection = { ...HASTY, baseUrl: between.url, random: () => 0.05 };
  const talking = (Object.keys(GREETINGS) as Carrier[]).map((carrier) => {
    const tag = `${carrier}-4000-10`;
    const got: string[] = [];
    const ended = runConversation[carrier](connection, tag, texts(tag), got).then(
      () => undefined,
      (error: unknown) => error,
    );
    return { carrier, tag, got, ended };
  });
  // The one that asks and is answered never pauses: it is killed in the middle.
  await vi.waitFor(() => expect(Math.min(...talking.map(({ got }) => got.length))).toBeGreaterThanOrEqual(10), 60_000);
  await first.kill();
  const second = run(script);
  port = Number(await second.line());
  for (const { carrier, tag, got, ended } of talking) {
    expect(await ended, carrier).toMatchObject({
      name: "Disconnected",
      code: "gap",
      missing: { after: got.length + GREETINGS[carrier] },
    });
    expect(got).toEqual(texts(tag).slice(0, got.length));
    if (carrier !== "based") expect(got).toHaveLength(10);
  }
}, 180_000);
