import { memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { expect, test, vi } from "vitest";
import { agentOn, numbers, say } from "../cluster.js";

type Agent = ReturnType<typeof agentOn>;

/** A reader of the session whose connection is cut, and how it joins again. */
async function cutReader({ app }: Agent) {
  const headers: Record<string, string> = { [RESUME]: newKey() };
  const events = (more = {}) =>
    app.fetch(new Request("http://localhost/api/sessions/s/events", { headers: { ...headers, ...more } }));
  const reader = (await events()).body!.getReader();
  const first = new TextDecoder().decode((await reader.read()).value);
  await reader.cancel();
  return {
    /** Reads to the text that ends with this word. */
    async rejoin(last: string): Promise<string[]> {
      const body = (await events({ "Last-Event-ID": first.match(/id: (.*)/)![1] })).body!.getReader();
      let text = "";
      while (!text.includes(`"${last}"`)) text += new TextDecoder().decode((await body.read()).value);
      await body.cancel();
      return [...text.matchAll(/"content":"(.*?)"/g)].map(([, word]) => word!);
    },
  };
}

const agents = (grace: number): readonly [Agent, Agent] => {
  const [pubSub, log] = [memoryPubSub(), memoryLog()];
  return [agentOn(pubSub, log, { grace }), agentOn(pubSub, log, { grace })];
};
const PLACES = [
  { cutOn: 0, nextOn: 0 },
  { cutOn: 0, nextOn: 1 },
  { cutOn: 1, nextOn: 0 },
  { cutOn: 1, nextOn: 1 },
] as const;

test.each(PLACES)(
  "the next reader gets what a cut one has not got before what comes later, and nothing twice when that one is given up (%o)",
  async ({ cutOn, nextOn }) => {
    const servers = agents(100);
    const session = await servers[0].session("s");
    await cutReader(servers[cutOn]);
    for (const word of numbers(1, 20)) session.send(say(word));
    const next = await servers[nextOn].reader("s");
    for (const word of numbers(21, 40)) session.send(say(word));
    await vi.waitFor(() => expect(servers[cutOn].app.stats().streams).toBe(cutOn === nextOn ? 1 : 0));
    session.send(say("last"));
    expect(await next.take(41)).toEqual([...numbers(1, 40), "last"]);
    next.detach();
  },
);

test.each(PLACES)("a cut reader that comes back gets the same (%o)", async ({ cutOn, nextOn }) => {
  const servers = agents(30_000);
  const session = await servers[0].session("s");
  const cut = await cutReader(servers[cutOn]);
  for (const word of numbers(1, 20)) session.send(say(word));
  const next = await servers[nextOn].reader("s");
  for (const word of numbers(21, 40)) session.send(say(word));
  expect(await next.take(40)).toEqual(numbers(1, 40));
  expect(await cut.rejoin("40")).toEqual(numbers(1, 40));
  next.detach();
});
