import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Opened, rawClient, rawServer } from "../methods-fixture.js";

// biome-ignore lint/suspicious/noExplicitAny: handlers of every form
type Loose = any;

/** Both of our sides, each with a raw peer. `asked` is a request that the raw peer may send, `called` one that our side may. */
const sides: readonly [side: string, open: (handlers?: Loose, options?: object) => Promise<Opened>][] = [
  ["client", rawServer],
  ["server", rawClient],
];

describe.each(sides)("a frame to the %s that breaks JSON-RPC", (side, open) => {
  const asked = side === "client" ? "turn/allow" : "turn/load";
  const called = side === "client" ? "turn/load" : "turn/allow";
  const notice = side === "client" ? "turn/text" : "turn/stop";
  const params = { sessionId: "s" };
  const answer = side === "client" ? { yes: true } : {};
  const result = side === "client" ? {} : { yes: true };

  const answers: readonly [what: string, write: (id: number) => string, code: string][] = [
    ["in a batch", (id) => `[{"jsonrpc":"2.0","id":${id},"result":{}}]`, "not_a_request"],
    ["in a batch, with its id as a text", (id) => `[{"jsonrpc":"2.0","id":"${id}","result":{}}]`, "not_a_request"],
    [
      "a result and an error",
      (id) => `{"jsonrpc":"2.0","id":${id},"result":{},"error":{"code":1,"message":""}}`,
      "not_a_request",
    ],
    ["neither a result nor an error", (id) => `{"jsonrpc":"2.0","id":${id}}`, "not_a_request"],
    ["an error that is a text", (id) => `{"jsonrpc":"2.0","id":${id},"error":"no"}`, "schema"],
    [
      "an error without a code, with its id as a text",
      (id) => `{"jsonrpc":"2.0","id":"${id}","error":{"message":"no"}}`,
      "schema",
    ],
    ["without a version", (id) => `{"id":${id},"result":{}}`, "not_a_request"],
    ["over the limit", (id) => `{"jsonrpc":"2.0","id":${id},"result":{"a":"${"x".repeat(3000)}"}}`, "too_large"],
  ];
  it.each(answers)("ends the call whose answer is %s, reports that, and goes on", async (_, write, code) => {
    const { raw, ours, violations, close } = await open({ [asked]: () => answer }, { maxMessageSize: 2000 });
    const answered = ours.call(called, params);
    answered.catch(() => {});
    raw.write(write((await raw.next()).id));
    await expect(answered).rejects.toMatchObject({ name: "Violation", code });
    expect(violations.map((one) => one.code)).toEqual([code]);
    raw.send({ id: 1, method: asked, params });
    expect(await raw.next()).toMatchObject({ id: 1, result: answer });
    await close();
  });

  it.runIf(side === "server").each(answers.filter(([what]) => !what.includes("as a text")))(
    "ends the question of a session whose answer is %s, and reports that",
    async (_, write, code) => {
      const { raw, ours, violations, close } = await open({ [asked]: () => answer }, { maxMessageSize: 2000 });
      // The connection reads the session from here on.
      raw.send({ id: 1, method: asked, params });
      await raw.next();
      const answered = ours.ask(called, params);
      answered.catch(() => {});
      const { id } = await raw.next();
      raw.write(write(JSON.stringify(id) as unknown as number));
      await expect(answered).rejects.toMatchObject({ name: "Refusal", code: "invalid_request" });
      expect(violations.map((one) => one.code)).toEqual([code]);
      await close();
    },
  );

  it("reads an answer that repeats its id as a text, and reports that", async () => {
    const { raw, ours, violations, close } = await open();
    const answered = ours.call(called, params);
    const { id } = await raw.next();
    raw.send({ id: `0${id}`, result });
    raw.send({ id: String(id), result });
    expect(await answered).toEqual(result);
    expect(violations.map(({ message }) => message)).toEqual([
      expect.stringContaining(`no request is open with the id "0${id}"`),
      expect.stringContaining(`the answer to the request ${id} has the id "${id}", a text`),
    ]);
    await close();
  });

  it("reports the answers of a batch with a request in it, which alone is refused", async () => {
    const { raw, ours, close } = await open({ [asked]: () => answer });
    const answered = ours.call(called, params);
    answered.catch(() => {});
    const { id } = await raw.next();
    raw.write(JSON.stringify([{ jsonrpc: "2.0", id, result }, 7, { jsonrpc: "2.0", id: 1, method: asked, params }]));
    await expect(answered).rejects.toMatchObject({ code: "not_a_request" });
    expect(await raw.next()).toMatchObject({ id: null, error: { code: -32600 } });
    await close();
  });

  const text = "x".repeat(3000);
  const large: readonly [what: string, frame: string, error: object][] = [
    [
      "a request",
      `{"jsonrpc":"2.0","id":4,"method":"${asked}","params":{"sessionId":"${text}"}}`,
      { id: 4, code: -32600 },
    ],
    [
      "a request with white space",
      `\n{ "id" : "a\\"b" , "method" : "${asked}" ,\n"params":{"a":"${text}"}}`,
      { id: 'a"b', code: -32600 },
    ],
    [
      "a notification",
      `{"jsonrpc":"2.0","method":"${notice}","params":{"sessionId":"${text}"}}`,
      { id: null, code: -32600 },
    ],
    [
      "params before their method",
      `{"params":{"sessionId":"${text}"},"id":4,"method":"${asked}"}`,
      { id: null, code: -32600 },
    ],
    ["a result before its id, where nothing is asked", `{"result":{"a":"${text}"},"id":4}`, { id: null, code: -32600 }],
    ["a batch, where nothing is asked", `[{"jsonrpc":"2.0","id":4,"result":"${text}"}]`, { id: null, code: -32600 }],
    ["no JSON", text, { id: null, code: -32700 }],
  ];
  it.each(large)("answers a frame over the limit that is %s, and goes on", async (_, frame, { id, code }: Loose) => {
    const { raw, violations, close } = await open({ [asked]: () => answer }, { maxMessageSize: 2000 });
    raw.write(frame);
    const { error, ...rest } = await raw.next();
    expect({ ...rest, code: error.code }).toEqual({ jsonrpc: "2.0", id, code });
    expect(error.message).toMatch(/a frame of 3\d\d\d characters or more is over the limit of 2000/);
    expect(violations.map((one) => one.code)).toEqual(["too_large"]);
    raw.send({ id: 9, method: asked, params });
    expect(await raw.next()).toEqual({ jsonrpc: "2.0", id: 9, result: answer });
    await close();
  });

  it.each([
    ["a result before its id", `{"jsonrpc":"2.0","result":{"a":"${text}"},"id":1}`],
    ["an answer whose id is not at its beginning", `{"note":"${text}","id":1}`],
    ["a batch", `[{"jsonrpc":"2.0","id":1,"result":"${text}"}]`],
  ])("ends with a frame over the limit that may answer any open call: %s", async (_, frame) => {
    const { raw, ours, close } = await open({}, { maxMessageSize: 2000 });
    const answered = ours.call(called, params);
    answered.catch(() => {});
    await raw.next();
    raw.write(frame);
    await expect(answered).rejects.toMatchObject({ name: "Violation", code: "too_large" });
    expect((await raw.closed)[0]).toBe(1009);
    await close();
  });

  it("prints each kind of violation once where no hook gets them", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const options = side === "client" ? { onViolation: undefined } : { onError: undefined, hooks: {} };
    const { raw, close } = await open({ [asked]: () => answer }, options);
    for (let i = 0; i < 200; i++) {
      raw.write("{nope");
      raw.send({ id: i, method: asked, params: { sessionId: i } });
      for (let read = 0; read < 2; read++) await raw.next();
    }
    const by = side === "client" ? "@parlance/client: a frame of calls.talk" : "@parlance/server: talk";
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringContaining(`${by} was refused, printed once: calls: the body is not JSON`),
      expect.stringContaining(`${by} was refused, printed once: calls: `),
    ]);
    await close();
  });
});
