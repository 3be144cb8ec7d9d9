import { contractValue } from "@parlance/language/value";
import { pair } from "@parlance/wire/link";
import { describe, expect, onTestFinished, test } from "vitest";
import { mock } from "../../src/mock/mock.js";
import { type Entry, formatLine, type Happening, type HeaderList } from "../../src/recording.js";
import type { Arriving } from "../../src/replay/answering.js";
import { loadRecording } from "../../src/replay/loaded.js";
import { ferry } from "../ferry.js";

// What a mock makes of recorded calls: their ids, their resuming, and their end.

const contract = contractValue(ferry);
const header = { recording: 1, versions: {}, began: "2026-01-01T00:00:00Z", redacted: [] };
const line = (c: number, from: "client" | "server", happening: Happening): Entry => ({ t: 0, c, from, ...happening });
const request = (c: number, method: string, target: string, more: object = {}) =>
  line(c, "client", { kind: "request", method, target, headers: [], ...more });
const response = (c: number, status: number, headers: HeaderList = []) =>
  line(c, "server", { kind: "response", status, headers });
const body = (c: number, from: "client" | "server", text: string) => line(c, from, { kind: "body", text });
const end = (c: number) => line(c, "server", { kind: "end" });
const asking = (method: string, target: string, more: Partial<Arriving> = {}): Arriving => ({
  method,
  target,
  headers: [],
  ...more,
});

async function mocked(entries: readonly Entry[]) {
  const text = [header, ...entries].map((one) => formatLine(one as Entry)).join("");
  const sources: string[] = [];
  const from = await loadRecording([new TextEncoder().encode(text)]);
  const made = mock(contract as never, { from, onAnswer: (_, source) => void sources.push(source) });
  onTestFinished(() => made.close());
  return { made, sources };
}

async function textOf(answer: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const bytes of answer) text += Buffer.from(bytes).toString();
  return text;
}
const never = () => new AbortController().signal;
const settled = async () => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test.each<[recorded: string, came: string, text: string, answer: string]>([
  ["north", "south", '{"pier":"north","of":"northern"}', '{"pier":"south","of":"northern"}'],
  ["northern", "southern", '{"of":"at northern, 3"}', '{"of":"at southern, 3"}'],
  ["northpi", "southern", '{"of":"at northpi"}', '{"of":"at northpi"}'],
  ["north", "north", '{"pier":"north"}', '{"pier":"north"}'],
  ["n%20o", "s%20o", '{"pier":"n o"}', '{"pier":"s o"}'],
])("the id %s of a recorded path becomes %s where it is repeated", async (recorded, came, text, answer) => {
  const { made } = await mocked([
    request(1, "POST", `/piers/${recorded}/bookings?deck=upper`),
    response(1, 201, [["Content-Type", "application/json"]]),
    body(1, "server", text),
    end(1),
  ]);
  const answered = await made.answer(asking("POST", `/piers/${came}/bookings?deck=upper`));
  expect(answered.status).toBe(201);
  expect(await textOf(answered.body(never()))).toBe(answer);
});

const stream = [
  ["Content-Type", "text/event-stream"],
  ["Parlance-Resume", "e1; grace=60; beat=15"],
] as const;
const event = (c: number, text: string) => line(c, "server", { kind: "event", event: "moved", text });

describe("a recorded stream", () => {
  const moved = '{"kind":"moved","to":"a"}';
  test("is not offered to be resumed, and has the recorded answer, not that of its resuming", async () => {
    const { made, sources } = await mocked([
      request(1, "GET", "/piers/north/ferry"),
      response(1, 200, stream),
      event(1, moved),
      line(1, "server", { kind: "error", text: "lost" }),
      request(2, "GET", "/piers/north/ferry", { headers: [["Last-Event-ID", "e1.1"]] }),
      response(2, 200, stream),
      end(2),
      request(3, "GET", "/notice"),
    ]);
    for (let again = 0; again < 2; again++) {
      const answered = await made.answer(asking("GET", "/piers/north/ferry"));
      expect(answered.headers).toEqual([["Content-Type", "text/event-stream"]]);
      await expect(textOf(answered.body(never()))).rejects.toThrow("lost");
    }
    // A call that was never answered is none to repeat.
    await made.answer(asking("GET", "/notice"));
    expect(sources).toEqual(["recording", "recording", "examples"]);
  });

  test("that its client left stays open until the mock closes", async () => {
    const left = line(1, "client", { kind: "error", text: "gone" });
    const { made } = await mocked([request(1, "GET", "/tides"), response(1, 200, stream), event(1, moved), left]);
    const { body: chunks } = await made.answer(asking("GET", "/tides"));
    let over = false;
    const reading = textOf(chunks(never())).then((text) => {
      over = true;
      return text;
    });
    await settled();
    expect(over).toBe(false);
    made.close();
    expect(await reading).toContain(moved);
  });
});

describe("a recorded channel", () => {
  const entries = [
    request(1, "GET", "/decks/upper", { socket: true }),
    response(1, 101),
    line(1, "server", { kind: "frame", text: '{"kind":"welcome","crew":5}' }),
    line(1, "client", { kind: "frame", text: '{"kind":"hello","name":"Ann"}' }),
    line(1, "server", { kind: "frame", text: '{"kind":"told","text":"Soon."}' }),
  ];
  const upper = asking("GET", "/decks/upper");

  test("is closed with the mock, while it waits for its client", async () => {
    const { made } = await mocked(entries);
    const accepted = await made.accept(upper);
    const [near, far] = pair();
    const heard: unknown[] = [];
    near.listen({ frame: (text) => void heard.push(text), close: (code, reason) => void heard.push([code, reason]) });
    if ("run" in accepted) accepted.run(far);
    await settled();
    expect(heard).toEqual(['{"kind":"welcome","crew":5}']);
    made.close();
    await settled();
    expect(heard.slice(1)).toEqual([[1001, "the replay has closed"]]);
  });

  test("has no ticket: its client is sent to open it as its document says", async () => {
    const { made, sources } = await mocked(entries);
    const resuming = { headers: [["Parlance-Resume", "k"]] } as const;
    const { status, headers, body: chunks } = await made.answer({ ...upper, ...resuming });
    expect({ status, headers, text: await textOf(chunks(never())) }).toEqual({
      status: 404,
      headers: [["Content-Type", "text/plain"]],
      text: "",
    });
    expect(sources).toEqual(["recording"]);
    // A stream that may be resumed is none.
    const { status: other } = await made.answer(asking("GET", "/tides", resuming));
    expect([other, sources]).toEqual([200, ["recording", "examples"]]);
  });
});
