import { contractValue } from "@parlance/language/value";
import { Violation } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { pier } from "../../../recordings/test/pier.js";
import { Unmet } from "../../src/case.js";
import { suiteOf } from "../../src/cases.js";
import { unknownMessage } from "../../src/server/channel-case.js";
import type { Asking, Frames, Opened, TestedServer, Whole } from "../../src/tested.js";

// Requests that a server refuses before its handlers, and servers that do not.

const suite = await suiteOf(pier, contractValue);
const cases = new Map(suite.server.map((one) => [one.id, one]));

type Came = number | Unmet;

/** A server that gives these answers in turn: statuses, or why there is none. */
function server(came: readonly Came[], live = false) {
  const left = [...came];
  const done: string[] = [];
  const asked: Asking[] = [];
  const next = (asking: Asking): Whole => {
    asked.push(asking);
    const one = left.shift();
    if (one === undefined) throw new Unmet("no more requests", asking.target);
    if (typeof one !== "number") throw one;
    return { status: one, headers: {}, text: `text of ${one}` };
  };
  const peer: TestedServer = {
    live,
    wait: 0,
    request: async (asking) => ({ ...next(asking), bytes: new Uint8Array() }),
    async open(asking) {
      const { text, ...head } = next(asking);
      return { ...head, rest: async () => text, abort: () => void done.push("aborted") } as Opened;
    },
    async socket(asking) {
      const answer = next(asking);
      return answer.status === 101 ? ({ cut: () => void done.push("cut") } as Frames) : answer;
    },
    report: async () => [],
  };
  return { peer, done, asked };
}

/** What a case says of a server. */
async function flawOf(id: string, came: readonly Came[], live = false) {
  const { peer, ...rest } = server(came, live);
  try {
    await cases.get(id)!.run(peer);
    return { flaw: undefined, ...rest };
  } catch (error) {
    if (!(error instanceof Unmet)) throw error;
    return { flaw: `${error.expected}, not ${error.came}`, ...rest };
  }
}

test("a refusal that the contract declares is a must, but that of a caller or of a body that no client sends", () => {
  const ids = "dock/method dock/malformed dock/size dock/nesting watch/host radio/origin radio/plain-get unknown-path";
  const levels = ids
    .split(" ")
    .map((id) => `${id} ${cases.get(`server/${id}`)!.level} ${cases.get(`server/${id}`)!.live}`);
  expect(levels).toEqual([
    ...["dock/method must true", "dock/malformed must true", "dock/size should true", "dock/nesting should true"],
    ...["watch/host should true", "radio/origin should true", "radio/plain-get must true", "unknown-path must true"],
  ]);
});

describe("a body that no client sends", () => {
  const lost = new Unmet("an answer", "socket hang up");
  const silent = new Unmet("an answer", "nothing within 5000 ms");
  test.each<[id: string, came: Came[], flaw: string | undefined]>([
    ["size", [413, 204], undefined],
    ["size", [lost, 204], undefined],
    ["size", [400, 204], "413 or 0 for a body of 20 MiB, not 400 text of 400"],
    ["size", [204, 204], "413 or 0 for a body of 20 MiB, not 204 a success"],
    ["size", [silent, 204], "an answer, not nothing within 5000 ms"],
    ["size", [413, 503], "the next request to succeed, not 503"],
    ["size", [413, 300], "the next request to succeed, not 300"],
    ["nesting", [400, 204], undefined],
    ["nesting", [413, 204], undefined],
    ["nesting", [422, 204], undefined],
    ["nesting", [lost, 204], undefined],
    ["nesting", [500, 204], "400 or 413 or 422 or 0 for a body of 100000 levels, not 500 text of 500"],
  ])("of great %s is refused, and the server lives on: %j", async (id, came, flaw) => {
    expect((await flawOf(`server/dock/${id}`, came)).flaw).toBe(flaw);
  });

  test("is of a size or a depth that nothing needs, beside the headers of a good one", async () => {
    const { asked } = await flawOf("server/dock/size", [413, 204]);
    expect(asked.map(({ method, target }) => `${method} ${target}`)).toEqual(Array(2).fill("POST /ships/daphne/dock"));
    expect(asked[0]!.headers).toEqual({ "Content-Type": "application/json" });
    expect(JSON.parse(asked[0]!.body as string).parlance).toHaveLength(20 * 1024 * 1024);
    expect(asked[1]!.body).toBe('{"berth":"b1"}');
    const { asked: deep } = await flawOf("server/dock/nesting", [400, 204]);
    const body = deep[0]!.body as string;
    expect([body.slice(0, 13), body.slice(-2), body.length]).toEqual(['{"parlance":[', "]}", 200_013]);
  });

  test("may spoil the next request of a live server, whose answers are its own", async () => {
    expect((await flawOf("server/dock/size", [413, 404], true)).flaw).toBeUndefined();
  });
});

test.each<[id: string, came: number, flaw: string | undefined, done: string[]]>([
  ["watch/host", 403, undefined, []],
  ["watch/host", 200, "403 for watch refuses another Host with 403, not 200 a success", ["aborted"]],
  ["watch/host", 299, "403 for watch refuses another Host with 403, not 299 a success", ["aborted"]],
  ["watch/host", 300, "403 for watch refuses another Host with 403, not 300 text of 300", []],
  ["radio/origin", 403, undefined, []],
  ["radio/origin", 404, "403 for radio refuses a page of another Origin with 403, not 404 text of 404", []],
  ["radio/origin", 101, "403 for radio refuses a page of another Origin with 403, not 101 an open WebSocket", ["cut"]],
  ["unknown-path", 404, undefined, []],
  ["unknown-path", 200, "404 for an unknown path, not 200 text of 200", []],
  ["radio/plain-get", 426, undefined, []],
  ["radio/plain-get", 400, "426 for a plain GET, not 400 text of 400", []],
  ["radio/schema/band/enum", 400, undefined, []],
  ["radio/schema/band/enum", 404, "400 for an input that breaks its schema, not 404 text of 404", []],
  ["radio/schema/band/enum", 101, "the handshake to be refused with 400, not an open WebSocket", ["cut"]],
])("the case %s and a server that answers with %i: %j", async (id, came, flaw, done) => {
  expect(await flawOf(`server/${id}`, [came])).toMatchObject({ flaw, done });
});

describe("a message of a newer client", () => {
  /** A channel whose contract knows some bodies, and breaks at others. */
  const channel = (tag: object, known: Record<string, "message" | "unknown" | "breaks">, own?: string) => ({
    contract: {
      tag,
      channels: { radio: {} },
      messages: { where: { shape: { const: { kind: "where", on: true } } }, reply: {} },
    },
    names: () => ["where", "reply"],
    codec: () => ({
      decode({ event, data }: { event?: string; data: string }) {
        if (event !== own) return { message: {} };
        const [name] = Object.keys(JSON.parse(data));
        const how = known[name!];
        if (how === "breaks") throw new Violation("no", { code: "schema", protocol: "pier", side: "client" });
        return how === "unknown" ? { unknown: {} } : { message: {} };
      },
    }),
  });
  const property = { in: "property", property: "kind" };
  const shape = { in: "shape" };
  test.each<[string, object, Parameters<typeof channel>[1], string | undefined]>([
    ["names itself where the tag is a property", property, { kind: "unknown" }, "kind"],
    [
      "does not exist where the tag's property is another's",
      property,
      { kind: "message", parlance: "unknown" },
      undefined,
    ],
    ["has a constant's name where the tag is the shape", shape, { kind: "unknown", on: "unknown" }, "kind"],
    ["has another constant's where one breaks", shape, { kind: "breaks", on: "unknown", parlance: "unknown" }, "on"],
    [
      "has a name of its own where the others are known",
      shape,
      { kind: "message", on: "breaks", parlance: "unknown" },
      "parlance",
    ],
    [
      "does not exist where every object is known or broken",
      shape,
      { kind: "message", on: "breaks", parlance: "breaks" },
      undefined,
    ],
  ])("%s", (_, tag, known, name) => {
    const found = unknownMessage(channel(tag, known) as never, "radio", "client");
    expect(found).toEqual(name === undefined ? undefined : { [name]: "parlance.unknown" });
  });

  test("of a stream has a name of its own as an event too", () => {
    const stream = channel(
      { in: "event" },
      { kind: "message", on: "message", parlance: "unknown" },
      "parlance.unknown",
    );
    expect(unknownMessage(stream as never, "watch", "server")).toEqual({ parlance: "parlance.unknown" });
  });
});
