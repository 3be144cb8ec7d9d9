import { lint } from "@parlance/language/lint";
import { describe, expect, it } from "vitest";
import { calls } from "../calls.js";

// biome-ignore lint/suspicious/noExplicitAny: cases break the contract in every way there is
type Loose = any;

const found = async (edit: (contract: Loose) => void, files?: Readonly<Record<string, Loose>>) =>
  (await lint(calls(edit, files), { patterns: false })).map(
    ({ file, pointer, message }) => `${file === "contract.json" ? "" : file}#${pointer} ${message}`,
  );

const plain = { title: "Plain", description: "Plain.", type: "string", examples: ["a"] };
const stop = { by: "client", summary: "Stops.", params: "messages/key.json" };

const cases: readonly [what: string, edit: (contract: Loose) => void, found: readonly string[]][] = [
  [
    "a file that does not exist",
    (c) => {
      c.methods.hello.params = "messages/helo.json";
    },
    ['#/methods/hello/params names messages/helo.json, which does not exist; did you mean "messages/hello.json"?'],
  ],
  [
    "params that are no object",
    (c) => {
      c.methods.ping.params = "messages/plain.json";
    },
    ["#/methods/ping/params messages/plain.json must describe an object, because params are one"],
  ],
  [
    "a name of JSON-RPC's own",
    (c) => {
      c.methods["rpc.stop"] = stop;
    },
    ['#/methods/rpc.stop begins with "rpc.", which JSON-RPC keeps to itself'],
  ],
  [
    "two names of one type",
    (c) => {
      c.methods["turn.stop"] = stop;
    },
    ["#/methods/turn.stop and turn/stop would both have frames of the type TurnStopFrame; rename one"],
  ],
  [
    "a stream of no method",
    (c) => {
      c.methods["turn/ask"].stream = "turn/txt";
    },
    [
      '#/methods/turn~1ask/stream "turn/txt" is not a method; the notifications of the server are turn/text, $/cancel; did you mean "turn/text"?',
    ],
  ],
  [
    "a stream of the same side",
    (c) => {
      c.methods["turn/ask"].stream = "turn/stop";
    },
    [
      '#/methods/turn~1ask/stream "turn/stop" is not sent by the server; the notifications of the server are turn/text, $/cancel',
    ],
  ],
  [
    "a stream that is a request",
    (c) => {
      c.methods["turn/ask"].stream = "turn/allow";
    },
    ['#/methods/turn~1ask/stream "turn/allow" is a request; the notifications of the server are turn/text, $/cancel'],
  ],
  [
    "a stream without the session's key",
    (c) => {
      c.methods["turn/text"].params = "messages/nothing.json";
    },
    ["#/methods/turn~1ask/stream needs the key of the session, and the params of turn/text have no sessionId"],
  ],
  [
    "a cancel without the session's key",
    (c) => {
      c.methods["turn/stop"].params = undefined;
    },
    ["#/methods/turn~1ask/cancel needs the key of the session, and the params of turn/stop have no sessionId"],
  ],
  [
    "a stream in a contract without sessions",
    (c) => {
      c.session = undefined;
      c.methods["turn/ask"].cancel = undefined;
    },
    ['#/methods/turn~1ask/stream belongs to a request by the key of its session; write "session", such as sessionId'],
  ],
  [
    "a cancel by id of one side",
    (c) => {
      c.rpc.cancel = "turn/stop";
    },
    ['#/rpc/cancel "turn/stop" is not sent by both sides; the notifications of both sides are $/cancel'],
  ],
  [
    "a cancel by id without the id",
    (c) => {
      c.methods["$/cancel"].params = "messages/nothing.json";
    },
    ["#/rpc/cancel needs the id of the request, and the params of $/cancel have no requestId"],
  ],
  [
    "a capability that nobody has",
    (c) => {
      c.methods["turn/load"].needs = "/can/lod";
    },
    ["#/methods/turn~1load/needs no params or result of the side that handles the method has /can/lod"],
  ],
  [
    "a capability of the other side",
    (c) => {
      c.methods["turn/load"].needs = "/files";
    },
    ["#/methods/turn~1load/needs no params or result of the side that handles the method has /files"],
  ],
  [
    "two errors with one word",
    (c) => {
      c.errors["-32001"] = { code: "away", description: "Gone." };
    },
    ["#/errors/-32001/code is also the word for -32000; choose another"],
  ],
  [
    "a session that no params have",
    (c) => {
      c.session = "session";
    },
    [
      "#/methods/turn~1ask/cancel needs the key of the session, and the params of the method have no session",
      "#/methods/turn~1ask/cancel needs the key of the session, and the params of turn/stop have no session",
      "#/methods/turn~1ask/stream needs the key of the session, and the params of turn/ask have no session",
      "#/methods/turn~1ask/stream needs the key of the session, and the params of turn/text have no session",
      '#/session no operation, method or channel has a parameter session; did you mean "version"?',
    ],
  ],
  [
    "messages beside methods",
    (c) => {
      c.messages = {};
    },
    ["#/messages is only allowed where there are no methods, which loading expands to it"],
  ],
  [
    "a method of format 1",
    (c) => {
      c.format = 1;
    },
    ["#/format is 1, and can only be 2"],
  ],
  [
    "methods without rpc",
    (c) => {
      c.rpc = undefined;
    },
    ['# needs "rpc": The contract\'s channels carry JSON-RPC, in both directions.'],
  ],
  [
    "rpc without methods",
    (c) => {
      c.methods = undefined;
      c.tag = { in: "event" };
      c.messages = {};
      c.operations = {};
      c.fault = { schema: "messages/nothing.json", text: ["/x"] };
    },
    [
      "#/errors is only allowed where there are methods",
      "#/rpc is only allowed where there are methods",
      '#/channels/talk needs "client"',
      '#/channels/talk needs "server"',
    ],
  ],
  [
    "a stream of a notification",
    (c) => {
      c.methods["turn/stop"].stream = "turn/text";
    },
    ['#/methods/turn~1stop/stream needs "result" beside it'],
  ],
];

describe("the rule of methods", () => {
  it("finds nothing in a sound contract", async () => {
    expect(await lint(calls(), { patterns: false })).toEqual([]);
  });

  it.each(cases)("finds %s", async (_, edit, wanted) => {
    const files = { "messages/plain.json": plain };
    const all = await found(edit, files);
    expect(all).toEqual(expect.arrayContaining([...wanted]));
  });
});
