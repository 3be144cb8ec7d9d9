import { readFileSync } from "node:fs";
import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { describe, expect, it, vi } from "vitest";

/** The names of an interface's options, as its source has them. */
function declared(path: string, name: string): string[] {
  const source = readFileSync(new URL(path, import.meta.url), "utf8");
  const [, body = ""] = new RegExp(`interface ${name} .*?\\{\n(.*?)\n\\}`, "s").exec(source) ?? [];
  return [...body.matchAll(/^ {2}readonly (\w+)\?:/gm)].map(([, option]) => option!);
}

const misuse = (name: string) => ({ name: "TypeError", code: "usage", message: expect.stringMatching(`^${name}\\b`) });

const notFunctions = [5, "x", {}, [], true, null];
const notNumbers = ["5", -1, Number.NaN, {}, () => 1];
const headers = {
  wrong: [
    5,
    "Accept: x",
    null,
    [["a", "b"]],
    new Map([["a", "b"]]),
    new Headers({ a: "b" }),
    { a: 5 },
    { a: undefined },
  ],
  right: [{}, { Accept: "x" }, Object.create(null)],
};
const signal = { wrong: [5, "x", {}, [], null, true, new AbortController()], right: [new AbortController().signal] };
const callback = { wrong: notFunctions, right: [() => {}, async () => {}] };

interface Values {
  readonly wrong: readonly unknown[];
  readonly right: readonly unknown[];
}

/** Every option of `connect`. */
const ofClients: Readonly<Record<string, Values>> = {
  baseUrl: {
    wrong: [
      ...[5, {}, null, "", "localhost:8080", "ftp://x", "/path", "http://", "http://name:password@x"],
      ...["http://x?a=b", "http://x/api?a=b", "http://x#a", "http://x/api#a"],
    ],
    right: ["http://x", "https://x/api/", "HTTP://x:80/"],
  },
  token: { wrong: [5, {}, [], true, null], right: ["x", () => "x"] },
  headers,
  fetch: callback,
  webSocket: callback,
  profile: { wrong: [5, {}, null, () => "x", "nosuch", "toString"], right: [] },
  onUnknown: callback,
  onViolation: callback,
  onConnection: callback,
  signal,
  retryWaits: { wrong: [5, "x", {}, null, [-1], ["1"], [Number.NaN]], right: [[], [0, 1.5]] },
  maxMessageSize: { wrong: notNumbers, right: [0, 1] },
  maxQueued: { wrong: notNumbers, right: [0, 1] },
  resume: { wrong: [0, "false", {}, null], right: [true, false] },
  reconnectFor: { wrong: notNumbers, right: [0, 1] },
  random: callback,
  idleTimeout: { wrong: notNumbers, right: [0, 1] },
  answerTimeout: { wrong: notNumbers, right: [0, 1] },
};

/** Every option of a call. */
const ofCalls: Readonly<Record<string, Values>> = {
  signal,
  headers,
  onConnection: callback,
  reopen: { wrong: [5, "x", {}, null], right: [] },
  open: { wrong: [5, "x", null, []], right: [] },
};

const notObjects = [5, "http://localhost:8080", null, [], () => {}];

describe("An option of connect", () => {
  it("is in this table", () => {
    expect(Object.keys(ofClients).toSorted()).toEqual(declared("../src/options.ts", "ConnectOptions").toSorted());
  });

  it.each(Object.entries(ofClients))("is refused at once where it has another form: %s", (name, { wrong, right }) => {
    const open = (value: unknown) => () => connect(foldGateway, { [name]: value } as ConnectOptions);
    for (const value of wrong) {
      let thrown: unknown;
      try {
        open(value)();
      } catch (error) {
        thrown = error;
      }
      const message = expect.stringContaining(name);
      expect(thrown, String(JSON.stringify(value))).toMatchObject({ name: "TypeError", code: "usage", message });
    }
    for (const value of [undefined, ...right]) expect(open(value)).not.toThrow();
  });

  it("is refused where the options are no object", () => {
    for (const options of notObjects)
      expect(() => connect(foldGateway, options as ConnectOptions)).toThrow(/^options must be an object$/);
  });
});

describe("An option of a call", () => {
  const fetch = vi.fn(async () => Response.json([]));
  const webSocket = vi.fn(async () => Promise.reject(new Error("no socket")));
  const connection = { fetch, webSocket, retryWaits: [] };
  const calls: Readonly<Record<string, (options: never) => Promise<unknown>>> = {
    "an operation": (options) => connect(foldGateway, connection).listAgents(options),
    "a stream": async (options) => connect(emacsAgent, connection).events({ session_id: "s" }, options).opened,
    "a channel": (options) => connect(based, connection).session(options),
  };

  it("is in this table", () => {
    const source = "../../wire/src/contract/calls.ts";
    const names = [...declared(source, "CallOptions"), ...declared(source, "ReopenOptions"), "open"];
    expect(Object.keys(ofCalls).toSorted()).toEqual(names.toSorted());
  });

  it.each(Object.entries(calls))(
    "is refused before anything is sent where it has another form: %s",
    async (_, call) => {
      for (const [name, { wrong }] of Object.entries(ofCalls))
        for (const value of wrong)
          await expect(call({ [name]: value } as never), `${name} ${value}`).rejects.toMatchObject(misuse(name));
      for (const options of notObjects) await expect(call(options as never)).rejects.toMatchObject(misuse("options"));
      expect([fetch.mock.calls, webSocket.mock.calls]).toEqual([[], []]);
    },
  );

  it("may have each of its forms", async () => {
    for (const [name, { right }] of Object.entries(ofCalls))
      for (const value of [undefined, ...right])
        expect(await calls["an operation"]!({ [name]: value } as never)).toEqual([]);
  });
});
