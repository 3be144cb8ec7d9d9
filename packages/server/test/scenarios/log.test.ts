import { connect } from "@parlance/client";
import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { memoryPubSub } from "@parlance/server/cluster";
import { type EventLog, type EventWriter, memoryLog, testEventLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { agentOn, numbers, say } from "../cluster.js";

describe("memoryLog", () => testEventLog(async () => ({ log: memoryLog(), stop() {} }), test));

describe("A log that fails", () => {
  const handlers = (aborted: (reason: unknown) => void) =>
    ({
      async *send(_, { signal }) {
        signal.addEventListener("abort", () => aborted(signal.reason));
        for (let i = 1; ; i++) yield { type: "text", text: `${i}` };
      },
    }) as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;

  test.each([
    ["takes no more", false, 1],
    ["takes no more, and whose reader asks another server for the rest", false, 2],
    ["can neither take more nor be closed", true, 1],
  ])("%s: its reader gets what it holds and then a gap, and its handler hears why", async (_, all, servers) => {
    const log = memoryLog();
    const full = new Error("OOM command not allowed");
    let last = 0;
    const failing: EventLog = {
      ...log,
      async open(stream) {
        const writer = await log.open(stream);
        return (
          writer && {
            ...writer,
            append(seq, text) {
              last = seq;
              return seq > 3 ? Promise.reject(full) : writer.append(seq, text);
            },
            close: () => (all ? Promise.reject(full) : writer.close()),
          }
        );
      },
    };
    let reason: unknown;
    const own = handlers((why) => {
      reason = why;
    });
    const elsewhere: EventLog = {
      ...log,
      async state(stream) {
        const state = await log.state(stream);
        return state && { ...state, last };
      },
    };
    const apps = [failing, elsewhere].map((log) => serve(foldGateway, own, { log, onError: false }));
    let requests = 0;
    const fetch = (request: Request) => apps[requests++ > 0 ? servers - 1 : 0]!.fetch(request);
    const got: string[] = [];
    const read = async () => {
      const stream = connect(foldGateway, { fetch, random: () => 0 }).send({ content: "x" });
      for await (const message of stream) if (message.type === "text") got.push(message.text);
    };
    const error = await read().catch((error: unknown) => error);
    expect(["1", "2", "3"].slice(0, got.length)).toEqual(got);
    expect(error).toMatchObject({ name: "Disconnected", code: "gap", missing: { after: got.length } });
    if (!all) expect(got).toEqual(["1", "2", "3"]);
    expect(reason).toMatchObject({ name: "Disconnected", code: "unreachable", cause: full });
  });

  test.each(["the reader", "another client"])(
    "loses what a session sent before its end: its reader gets a gap, also where %s ended the session",
    async (who) => {
      const log = memoryLog();
      const full: EventLog = {
        ...log,
        async open(stream) {
          const writer = await log.open(stream);
          const append = (seq: number, text: string) =>
            seq > 3 ? Promise.reject(new Error("OOM command not allowed")) : writer!.append(seq, text);
          return writer && { ...writer, append };
        },
      };
      const { app, client, reader, session } = agentOn(memoryPubSub(), full, { onError: false });
      const other = connect(emacsAgent, { fetch: app.fetch });
      const reading = await reader("s");
      const sending = await session("s");
      for (const word of numbers(1, 8)) sending.send(say(word));
      await (who === "the reader" ? client : other).endSession({ session_id: "s" });
      // The first message is what the handler yields.
      expect(await reading.take(2)).toEqual(numbers(1, 2));
      expect(await reading.end()).toBe("gap");
      app.close();
    },
  );
});

test("a full log that holds nothing of a stream refuses a request with its key for now (503), not as a key in use", async () => {
  const kept = memoryLog();
  const full = () => Promise.reject(new Error("OOM command not allowed"));
  const log: EventLog = {
    ...kept,
    async open(stream) {
      const writer = await kept.open(stream);
      return writer && { ...writer, append: full, close: full };
    },
  };
  const handlers: Partial<EmacsAgentHandlers> = {
    async *events() {
      yield { type: "agent.state", state: "idle" };
    },
  };
  const app = serve(emacsAgent, handlers, { partial: true, log, onError: false, tombstoneLife: 50, grace: 50 });
  const headers = { [RESUME]: newKey() };
  const ask = () => app.fetch(new Request("http://localhost/api/sessions/s/events", { headers }));
  // An end would say that this is all of it.
  await expect(ask().then((answer) => answer.text())).rejects.toThrow("the connection was cut");
  expect((await ask()).status).toBe(503);
  app.close();
});

test("a stream that its log has closed under its handler is a gap for its reader, is reported, and aborts the handler", async () => {
  const log = memoryLog();
  let writer: EventWriter | undefined;
  // What happens in a shared log to a server that stands still for longer than its lease.
  const leased: EventLog = {
    ...log,
    async open(stream) {
      const opened = (await log.open(stream))!;
      writer = { ...opened, append: async (seq, text) => opened.append(seq, text) };
      return writer;
    },
  };
  let reason: unknown;
  const handlers: Partial<FoldGatewayHandlers> = {
    async *send(_, { signal }) {
      yield { type: "text", text: "1" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      reason = signal.reason;
    },
  };
  const failures: unknown[] = [];
  const onError = (error: unknown) => failures.push(error);
  const app = serve(foldGateway, handlers as FoldGatewayHandlers, { log: leased, onError });
  const messages = connect(foldGateway, { fetch: app.fetch, random: () => 0 })
    .send({ content: "x" })
    [Symbol.asyncIterator]();
  await messages.next();
  await writer!.close();
  await expect(messages.next()).rejects.toMatchObject({ code: "gap", missing: { after: 1 } });
  expect(failures).toEqual([reason]);
  expect(reason).toMatchObject({ name: "Disconnected", message: "the event log has closed the stream" });
});

test("a stream that is cancelled while a log opens it is refused, also when the log then hangs", async () => {
  const log = memoryLog();
  let opening = () => {};
  const isOpening = new Promise<void>((resolve) => {
    opening = resolve;
  });
  let goOn = () => {};
  const mayOpen = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const hanging: EventLog = {
    ...log,
    async open(stream) {
      opening();
      await mayOpen;
      const writer = await log.open(stream);
      return writer && { ...writer, close: () => new Promise(() => {}) };
    },
  };
  let begun = 0;
  const handlers: Partial<FoldGatewayHandlers> = {
    async *send() {
      begun++;
      yield { type: "done", full_response: "" };
    },
  };
  const app = serve(foldGateway, handlers as FoldGatewayHandlers, { log: hanging, storeWithin: 50, onError: false });
  const headers = { "Parlance-Resume": "0".repeat(32), "Content-Type": "application/json" };
  const request = (method: string, body?: string) =>
    app.fetch(new Request("http://localhost/api/send", { method, headers, ...(body && { body }) }));
  const sent = request("POST", JSON.stringify({ content: "x", sender: "test" }));
  await isOpening;
  const cancelled = request("DELETE");
  // Without I/O the cancel has reached the stream by the next turn.
  await new Promise((resolve) => setImmediate(resolve));
  goOn();
  const { status } = await sent;
  expect({ status, begun }).toEqual({ status: 503, begun: 0 });
  expect((await cancelled).status).toBe(204);
});

test("a stream goes on after its server stood still while an entry was on its way to the log, longer than that may take", async () => {
  const log = memoryLog();
  const far: EventLog = {
    ...log,
    async open(stream) {
      const writer = await log.open(stream);
      return (
        writer && {
          ...writer,
          async append(seq, text) {
            await writer.append(seq, text);
            // The answer comes after the limit would be over, and takes several turns then.
            if (seq === 2) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
            for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
          },
        }
      );
    },
  };
  const failures: unknown[] = [];
  const handlers: Partial<FoldGatewayHandlers> = {
    async *send() {
      for (let i = 1; i <= 4; i++) {
        yield { type: "text", text: `${i}` };
        await new Promise((resolve) => setImmediate(resolve));
      }
      yield { type: "done", full_response: "" };
    },
  };
  const options = { log: far, storeWithin: 200, onError: (error: unknown) => failures.push(error) };
  const app = serve(foldGateway, handlers as FoldGatewayHandlers, options);
  expect(await connect(foldGateway, { fetch: app.fetch }).send({ content: "x" }).text()).toBe("1234");
  expect(failures).toEqual([]);
});

test("a log that does not say its size counts as none in the gauges", async () => {
  const { size: _, ...log } = memoryLog();
  const app = serve(foldGateway, {}, { partial: true, log });
  expect(app.stats().logged).toBe(0);
  await app.close();
});

test("the readers of a cancelled stream end at once, also while its log does not answer", async () => {
  const log = memoryLog();
  let hangs = false;
  const stuck: EventLog = {
    ...log,
    async open(stream) {
      const writer = await log.open(stream);
      const or = (call: () => Promise<void>) => (hangs ? new Promise<void>(() => {}) : call());
      return writer && { ...writer, close: () => or(writer.close), trim: (last) => or(() => writer.trim(last)) };
    },
  };
  const handlers: Partial<FoldGatewayHandlers> = {
    async *send(_, { signal }) {
      yield { type: "text", text: "1" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  const app = serve(foldGateway, handlers as FoldGatewayHandlers, { log: stuck, storeWithin: 60_000, onError: false });
  const headers = { [RESUME]: newKey(), "Content-Type": "application/json" };
  const request = (method: string, body?: string) =>
    app.fetch(new Request("http://localhost/api/send", { method, headers, ...(body && { body }) }));
  const answer = await request("POST", JSON.stringify({ content: "x", sender: "test" }));
  const body = answer.body!.getReader();
  await body.read();
  hangs = true;
  void request("DELETE");
  expect(await body.read()).toMatchObject({ done: true });
});
