import { foldGateway } from "@parlance/protocols/fold-gateway";
import { newKey, RESUME, Refusal } from "@parlance/wire";
import { Scope } from "@parlance/wire/scope";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Context } from "../../src/call.js";
import { WebRequest } from "../../src/http/request.js";
import { conversationName } from "../../src/identity.js";
import type { ResumableChannels } from "../../src/resume/channels.js";
import type { EventLog } from "../../src/resume/event-log.js";
import { resumeRequests } from "../../src/resume/http.js";
import type { ResumableStreams } from "../../src/resume/streams.js";

// Requests to resume or cancel, without a conversation.

const KEY = newKey();
/** What stands at each path. */
const ROUTES: Readonly<Record<string, object>> = {
  "POST /send": { operations: ["send"], path: {} },
  "GET /events/1": { operations: ["events"], path: { id: "1" } },
  "POST /both": { operations: ["send", "also"], path: {} },
  "GET /health": { operations: ["health"], path: {} },
  "GET /line": { channel: "line", path: {} },
};

const PATHS = Object.keys(ROUTES).map((route) => route.split(" ")[1]!);

interface Setting {
  /** What joining the stream of an operation comes to. */
  readonly joins?: Readonly<Record<string, object>>;
  /** The operations or channels that can be cancelled. */
  readonly cancels?: readonly string[];
  readonly closed?: boolean;
  readonly size?: boolean;
  readonly refuses?: Error;
}

function asking({ joins = {}, cancels = [], closed = false, size = true, refuses }: Setting = {}) {
  const root = Scope.open(() => {});
  const call = Scope.open(() => {});
  onTestFinished(() => root.close());
  onTestFinished(() => call.close());
  if (closed) root.close();
  const stream = { answer: { stream: {} } };
  const [hook, take, joined, cancelled] = [vi.fn(), vi.fn(), vi.fn(), vi.fn()];
  const context = {
    contract: { ...foldGateway, operations: { send: stream, also: stream, events: stream, health: { answer: {} } } },
    options: {},
    ownerOf: (principal: unknown) => String(principal),
    route: (method: string, pathname: string) => ROUTES[`${method} ${pathname}`],
    callbacks: {
      authenticate: async () => "me",
      request: async (_: unknown, called: object) => {
        hook({ ...called, request: undefined });
        if (refuses) throw refuses;
      },
      refuse: () => {},
      report: () => {},
    },
    ledger: { take: (owner: string, of: string, scope: Scope) => of !== "call" && take(owner, of, scope), hold() {} },
    root,
  } as unknown as Context;
  const nameOf = (name: string) => {
    const operation = name.split("/")[1]!;
    const pathname = PATHS.find((path) => conversationName("fold-gateway", operation, path, "me", KEY) === name);
    expect(pathname).toBeDefined();
    return { operation, pathname };
  };
  const cancel = async (name: string) => {
    cancelled(Object.values(nameOf(name)).join(" "));
    return cancels.includes(nameOf(name).operation);
  };
  const streams = {
    async join(name: string, cursor: unknown, _: Scope, admit: () => Promise<void>) {
      joined(nameOf(name).operation, cursor);
      const found = joins[nameOf(name).operation];
      if (found && !("gap" in found)) await admit();
      return found;
    },
    cancel,
  } as unknown as ResumableStreams;
  const log = (size ? { size: () => 0 } : {}) as EventLog;
  const answer = resumeRequests(context, log, streams, { cancel } as unknown as ResumableChannels);
  const ask = async (line: string, headers: Record<string, string> = { [RESUME]: KEY }) => {
    const [method, pathname] = line.split(" ") as [string, string];
    return answer(new WebRequest(new Request(`http://localhost${pathname}`, { method, headers })), call);
  };
  return { ask, hook, take, joined, cancelled, call };
}
const after = (place: string) => ({ [RESUME]: KEY, "Last-Event-ID": place });
const ANSWER = { status: 200, headers: {}, body: "stream" };

describe("A request with a key", () => {
  test.each<[line: string, headers?: Record<string, string>]>([
    ["POST /send"],
    ["PUT /send"],
    ["GET /send", {}],
    ["GET /send", { [RESUME]: "short" }],
    ["DELETE /send", {}],
    ["GET /health"],
    ["DELETE /health"],
    ["GET /nothing"],
    ["DELETE /nothing"],
    ["GET /line"],
  ])("is no business of a conversation: %s %j", async (line, headers) => {
    const { ask, joined, cancelled } = asking();
    expect([await ask(line, headers), joined.mock.calls, cancelled.mock.calls]).toEqual([undefined, [], []]);
  });

  test.each(["GET /send", "GET /events/1"])("joins the stream at its path after its cursor: %s", async (line) => {
    const operation = line.includes("send") ? "send" : "events";
    const { ask, joined, take, hook, call } = asking({ joins: { [operation]: ANSWER } });
    expect(await ask(line, after("e.3"))).toBe(ANSWER);
    expect(joined.mock.calls).toEqual([[operation, { epoch: "e", seq: 3 }]]);
    // It is a call as any other: it has a place, and hooks are called.
    expect(take.mock.calls).toEqual([["me", "reader", call]]);
    expect(hook.mock.calls).toMatchObject([
      [{ operation, principal: "me", input: operation === "events" ? { id: "1" } : {} }],
    ]);
  });

  test("may be refused by a hook", async () => {
    const refuses = new Refusal("no", { status: 403 });
    const { ask } = asking({ joins: { send: ANSWER }, refuses });
    await expect(ask("GET /send", after("e.3"))).rejects.toBe(refuses);
  });

  test("joins whichever stream of its path has the key", async () => {
    const { ask, joined } = asking({ joins: { also: ANSWER } });
    expect(await ask("GET /both")).toBe(ANSWER);
    expect(joined.mock.calls).toEqual([
      ["send", undefined],
      ["also", undefined],
    ]);
  });

  test.each<[gap: object, error: string, header: string]>([
    [{ after: 3 }, "all messages after 3 are gone", "gap; after=3"],
    [{ after: 3, first: 9 }, "messages 4 to 8 are gone", "gap; after=3; first=9"],
  ])("for messages that are gone says so, and calls nothing: %j", async (gap, error, header) => {
    const { ask, take, hook } = asking({ joins: { send: { gap } } });
    const answer = (await ask("GET /send", after("e.3")))!;
    expect([answer.status, JSON.parse(String(answer.body)), answer.headers[RESUME]]).toEqual([410, { error }, header]);
    expect(answer.headers["Content-Type"]).toBe("application/json");
    expect([take.mock.calls, hook.mock.calls]).toEqual([[], []]);
  });

  test("for a stream of which it has all says that it is over", async () => {
    for (const line of ["GET /send", "GET /events/1"])
      await expect(asking().ask(line, after("e.3"))).rejects.toMatchObject({
        status: 404,
        message: "the stream is over",
      });
  });

  test("without a cursor begins a stream of GET, and no other", async () => {
    expect(await asking().ask("GET /events/1")).toBeUndefined();
    await expect(asking().ask("GET /send")).rejects.toMatchObject({
      status: 404,
      message: "there is no stream with this key",
    });
  });

  test("to a server that has closed has a gap, unless a shared log still has the messages", async () => {
    const { ask, joined } = asking({ closed: true, joins: { send: ANSWER } });
    const answer = (await ask("GET /send", after("e.3")))!;
    expect([answer.status, answer.headers[RESUME], joined.mock.calls]).toEqual([410, "gap; after=3", []]);
    expect(await ask("GET /send")).toBe(ANSWER);
    const shared = asking({ closed: true, size: false, joins: { send: ANSWER } });
    expect(await shared.ask("GET /send", after("e.3"))).toBe(ANSWER);
  });

  test.each([
    ["DELETE /send", "send", "send /send"],
    ["DELETE /events/1", "events", "events /events/1"],
    ["DELETE /line", "line", "line /line"],
  ])("cancels the conversation at its path: %s", async (line, operation, name) => {
    const { ask, cancelled, joined } = asking({ cancels: [operation] });
    expect(await ask(line, after("e.3"))).toEqual({ status: 204, headers: {}, body: "" });
    expect([cancelled.mock.calls, joined.mock.calls]).toEqual([[[name]], []]);
  });

  test("cancels the one of several streams that has the key", async () => {
    const { ask, cancelled } = asking({ cancels: ["also"] });
    expect(await ask("DELETE /both")).toMatchObject({ status: 204 });
    expect(cancelled.mock.calls).toEqual([["send /both"], ["also /both"]]);
  });

  test.each([
    ["DELETE /send", "there is no stream with this key"],
    ["DELETE /events/1", "there is no stream with this key"],
    ["DELETE /line", "there is no channel with this key"],
  ])("says where there is nothing to cancel: %s", async (line, message) => {
    await expect(asking().ask(line)).rejects.toMatchObject({ status: 404, message });
  });
});
