import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { type EventLog, memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { expect, test } from "vitest";

const never = new Promise<never>(() => {});

/** Logs of which a reader gets nothing any more. */
const HANGING: Readonly<Record<string, (log: EventLog) => Partial<EventLog>>> = {
  "gives nothing": () => ({
    // biome-ignore lint/correctness/useYield: it hangs.
    async *tail() {
      await never;
    },
  }),
  "gives one batch and then nothing": (log) => ({
    async *tail(...args) {
      for await (const entries of log.tail(...args)) {
        yield entries.slice(0, 1);
        await never;
      }
    },
  }),
  "does not end with its stream": (log) => ({
    async *tail(...args) {
      yield* log.tail(...args);
      await never;
    },
  }),
  "answers nothing at all": () => ({
    // biome-ignore lint/correctness/useYield: it hangs.
    async *tail() {
      state.hangs = true;
      await never;
    },
  }),
};
const state = { hangs: false };

test.each(Object.keys(HANGING).flatMap((how) => ["its own server", "another server"].map((where) => ({ how, where }))))(
  "a reader on $where is cut within a limit where the log $how, and can read the rest when it is back",
  async ({ how, where }) => {
    const [log, pubSub] = [memoryLog(), memoryPubSub()];
    const reports: unknown[] = [];
    state.hangs = false;
    const hanging: EventLog = {
      ...log,
      ...HANGING[how]!(log),
      state: (name) => (state.hangs ? never : log.state(name)),
    };
    const send: FoldGatewayHandlers["send"] = async function* () {
      for (const text of ["1", "2", "3"]) yield { type: "text", text };
      yield { type: "done", full_response: "" };
    };
    const handlers = { send } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
    const options = {
      cluster: clusterOn(pubSub),
      storeWithin: 40,
      heartbeat: 0,
      onError: (error: unknown) => void reports.push(error),
    };
    const servers = {
      "its own server": serve(foldGateway, handlers, { ...options, log: where === "its own server" ? hanging : log }),
      "another server": serve(foldGateway, handlers, { ...options, log: hanging }),
    };
    const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
    const begin = { method: "POST", headers, body: '{"content":"x"}' };
    const began = await servers["its own server"].fetch(new Request("http://localhost/api/send", begin));
    const joined = new Request("http://localhost/api/send", { headers });
    const answer = where === "its own server" ? began : await servers["another server"].fetch(joined);
    // It is cut, and is joined again: an end would say that it is whole.
    await expect(answer.text()).rejects.toThrow("the connection was cut");
    expect(reports).toMatchObject([{ code: "timeout" }]);
    Object.assign(hanging, log);
    const again = await servers[where as keyof typeof servers].fetch(joined.clone());
    expect((await again.text()).match(/"text":"."/g)).toHaveLength(3);
    if (where === "another server") await began.body?.cancel();
  },
);

test("a tail that throws is reported, unless its reader has left", async () => {
  const [log, pubSub] = [memoryLog(), memoryPubSub()];
  const reports: unknown[] = [];
  let hasLeft = (): void => {};
  const left = new Promise<void>((resolve) => {
    hasLeft = resolve;
  });
  const failing: EventLog = {
    ...log,
    async *tail(...args) {
      yield* log.tail(...args);
      if (!args[2]?.aborted) throw new Error("the tail is broken");
      hasLeft();
      throw new Error("nobody reads this");
    },
  };
  const send: FoldGatewayHandlers["send"] = async function* ({ content }) {
    yield { type: "text", text: "1" };
    if (content === "silent") await never;
    yield { type: "done", full_response: "" };
  };
  const handlers = { send } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const options = { cluster: clusterOn(pubSub), heartbeat: 0, onError: (error: unknown) => void reports.push(error) };
  const [writer, other] = [
    serve(foldGateway, handlers, { ...options, log }),
    serve(foldGateway, handlers, { ...options, log: failing }),
  ];
  const begin = (content: string) => {
    const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
    const request = { method: "POST", headers, body: JSON.stringify({ content }) };
    return { headers, began: writer.fetch(new Request("http://localhost/api/send", request)) };
  };
  const whole = begin("x");
  await (await whole.began).text();
  const answer = await other.fetch(new Request("http://localhost/api/send", { headers: whole.headers }));
  await expect(answer.text()).rejects.toThrow("the connection was cut");
  expect(reports).toMatchObject([{ message: "the tail is broken" }]);

  const silent = begin("silent");
  const began = await silent.began;
  const joined = await other.fetch(new Request("http://localhost/api/send", { headers: silent.headers }));
  const reader = joined.body!.getReader();
  await reader.read();
  await reader.cancel();
  await left;
  await began.body!.cancel();
  expect(reports).toHaveLength(1);
});

test("a reader on another server is not cut while a stream is silent", async () => {
  const [log, pubSub] = [memoryLog(), memoryPubSub()];
  let goOn = (): void => {};
  const paused = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const send: FoldGatewayHandlers["send"] = async function* () {
    yield { type: "text", text: "1" };
    await paused;
    yield { type: "done", full_response: "" };
  };
  let asked = 0;
  const counting: EventLog = {
    ...log,
    state(name) {
      if (++asked > 8) goOn();
      return log.state(name);
    },
  };
  const handlers = { send } as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
  const [own, other] = [log, counting].map((log) =>
    serve(foldGateway, handlers, { log, cluster: clusterOn(pubSub), storeWithin: 20 }),
  );
  const headers = { "Content-Type": "application/json", [RESUME]: newKey() };
  const begin = { method: "POST", headers, body: '{"content":"x"}' };
  const began = await own!.fetch(new Request("http://localhost/api/send", begin));
  const joined = await other!.fetch(new Request("http://localhost/api/send", { headers }));
  expect(await joined.text()).toContain("event: done");
  await began.body!.cancel();
});
