import { encode, encodeComment, type SseEvent } from "@parlance/wire";
import { decoder } from "@parlance/wire/sse";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { measureGrowth } from "../../edits/test/growth.js";
import { chunkings, hear, utf8 } from "./chunkings.js";
import { cases } from "./sse-cases.js";

const seed = 20261121;
/** Above this many bytes, seeded splits instead of every one: so many, and of what is large only some. */
const SMALL = 4096;
const SPLITS = 64;
const LARGE = 1024 * 1024;
const LARGE_SPLITS = 6;

describe.each(Object.entries(cases))("%s", (_, { stream, events = [], retries = [], comments = [] }) => {
  const bytes = utf8(stream);
  const small = bytes.length <= SMALL;
  it(`is decoded however it is cut${small ? "" : ` (some splits with seed ${seed})`}`, () => {
    for (const chunks of small ? chunkings(bytes) : seededSplits(bytes)) {
      const heard = hear(chunks);
      // A deep comparison of ten megabytes takes longer than to decode them.
      const same = heard.events.length === events.length && heard.events.every((event, i) => equal(event, events[i]!));
      if (!same) expect(heard.events, `cut after byte ${chunks[0]?.length}`).toEqual(events);
      expect([heard.retries, heard.comments, heard.tooLarge]).toEqual([retries, comments, false]);
    }
  });
});

/** As the standard reads a whole stream, line by line: what decoding in one pass with short cuts must equal. */
function plainly(stream: string): SseEvent[] {
  const events: SseEvent[] = [];
  let event: string | undefined;
  let id: string | undefined;
  let data: string[] = [];
  for (const line of stream.split(/\r\n|\r|\n/).slice(0, -1)) {
    const at = line.indexOf(":");
    const field = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (line === "") {
      if (data.length > 0) events.push({ event: event || undefined, id, data: data.join("\n") } as SseEvent);
      event = undefined;
      data = [];
    } else if (field === "event") event = value;
    else if (field === "data") data.push(value);
    else if (field === "id" && !value.includes("\0")) id = value;
  }
  return events;
}

it(`decodes any order of lines as they are read one by one (seed ${seed})`, () => {
  const lines = [
    "event: a",
    "event: b",
    "event:a",
    "event",
    "extra: x",
    "e",
    "data: 1",
    "data: event: a",
    "data:2",
    "data",
    "dta: 3",
    "daata: 4",
  ];
  const line = fc.constantFrom(...lines, "id: 1", "id", ": c", "", "", "");
  const end = fc.constantFrom("\n", "\n", "\n", "\r\n", "\r");
  const streams = fc.array(fc.tuple(line, end), { maxLength: 14 }).map((all) => all.flat().join(""));
  fc.assert(
    fc.property(streams, fc.integer({ min: 1, max: 40 }), (stream, size) => {
      const bytes = utf8(stream);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      expect(hear(chunks).events.map(({ event, id, data }) => ({ event, id, data }))).toEqual(
        plainly(stream).map(({ event, id, data }) => ({ event, id, data })),
      );
    }),
    { seed, numRuns: 3000 },
  );
});

it("has at least forty cases", () => expect(Object.keys(cases).length).toBeGreaterThanOrEqual(40));

function equal(one: SseEvent, other: SseEvent): boolean {
  return one.event === other.event && one.id === other.id && one.data === other.data;
}

function* seededSplits(bytes: Uint8Array): Generator<readonly Uint8Array[]> {
  const splits = bytes.length > LARGE ? LARGE_SPLITS : SPLITS;
  yield [bytes];
  for (const at of fc.sample(fc.integer({ min: 1, max: bytes.length - 1 }), { seed, numRuns: splits - 1 }))
    yield [bytes.subarray(0, at), bytes.subarray(at)];
}

describe("The SSE encoder", () => {
  it.each(["\r", "\n", "\0", "a\nb", "\r\n", "data: x\n\n"])("refuses %j in a name, an id and a comment", (text) => {
    const refusal = (what: string) =>
      new TypeError(`an SSE ${what} may not hold CR, LF or NUL: ${JSON.stringify(text)}`);
    expect(() => encode({ event: text, data: "" })).toThrow(refusal("event name"));
    expect(() => encode({ id: text, data: "" })).toThrow(refusal("id"));
    expect(() => encodeComment(text)).toThrow(refusal("comment"));
  });

  it("writes these bytes", () => {
    expect(encode({ event: "text", data: '{"text":"Hi"}' })).toBe('event: text\ndata: {"text":"Hi"}\n\n');
    expect(encode({ id: "3", retry: 1500.5, data: "a\r\nb\rc\nd" })).toBe(
      "id: 3\nretry: 1500\ndata: a\ndata: b\ndata: c\ndata: d\n\n",
    );
    expect(encodeComment("")).toBe(": \n\n");
  });

  it(`writes what the decoder reads, for any event (seed ${seed})`, () => {
    const line = fc.string({ unit: "binary" }).map((text) => text.replace(/[\r\n\0]/g, " "));
    const any = fc.record({
      // An empty name is no name.
      event: fc.option(
        line.filter((name) => name !== ""),
        { nil: undefined },
      ),
      id: fc.option(line, { nil: undefined }),
      data: fc.string({ unit: "binary" }).map((text) => text.replace(/\r\n?/g, "\n")),
    });
    fc.assert(
      fc.property(any, (event) => {
        for (const chunks of chunkings(utf8(encode(event)))) expect(hear(chunks).events).toEqual([event]);
      }),
      { seed },
    );
  });
});

describe("The limit of one event", () => {
  const limit = 1000;
  const inside = `data: ${"x".repeat(limit)}\n\n`;
  it.each([
    ["in one chunk", `data: ${"x".repeat(limit + 1)}\n\n`],
    ["that is not finished", `data: ${"x".repeat(3 * limit)}`],
    ["in many lines", `${"data: x\n".repeat(limit)}\n`],
    ["in its name", `event: ${"x".repeat(3 * limit)}\ndata: 1\n\n`],
    ["in its id", `id: ${"x".repeat(3 * limit)}\ndata: 1\n\n`],
  ])("is noticed %s, however it is cut", (_, stream) => {
    for (const chunks of chunkings(utf8(stream + inside))) {
      const heard = hear(chunks, limit);
      if (!heard.tooLarge || heard.events.length > 0)
        expect(heard, `cut after byte ${chunks[0]!.length}`).toMatchObject({ tooLarge: true, events: [] });
    }
  });

  it("is met by an event of exactly so many characters, and by an unfinished line with 256 more for its field", () => {
    const heard = (...chunks: string[]) => {
      let tooLarge = 0;
      const events: number[] = [];
      const { push } = decoder({
        maxSize: limit,
        onEvent: ({ data }) => void events.push(data.length),
        onTooLarge: () => tooLarge++,
      });
      for (const chunk of chunks) push(chunk);
      return [events, tooLarge];
    };
    const x = (count: number) => "x".repeat(count);
    const ends = "\n\n";
    // In one line, in several, in a name and in an id.
    for (const of of [
      (size: number) => `data: ${x(size)}${ends}`,
      (size: number) => `data:${x(size)}${ends}`,
      (size: number) => `data: ${x(400)}\ndata: ${x(size - 401)}${ends}`,
    ]) {
      expect(heard(of(limit))).toEqual([[limit], 0]);
      expect(heard(of(limit + 1), of(1000))).toEqual([[], 1]);
    }
    for (const field of ["event", "id"]) {
      expect(heard(`${field}: ${x(limit)}\ndata: 1${ends}`)).toEqual([[1], 0]);
      expect(heard(`${field}: ${x(limit + 1)}\ndata: 1${ends}`)).toEqual([[], 1]);
    }
    // What has no end yet: its own length, with the data before it.
    for (const before of ["", `data: ${x(100)}\n`]) {
      const most = limit + 256 - (before === "" ? 0 : 100);
      expect(heard(before, `event: ${x(most - 7)}`)[1]).toBe(0);
      expect(heard(before, `event: ${x(most - 6)}`, `\n\ndata: 1${ends}`, x(5000))).toEqual([[], 1]);
      expect(heard(before, `event: ${x(most - 107)}`, x(100))[1]).toBe(0);
      expect(heard(before, `event: ${x(most - 107)}`, x(101))[1]).toBe(1);
    }
    // A line of another field is dropped as it arrives.
    expect(heard("other: ", x(5 * limit), x(5 * limit), `\ndata: 1${ends}`)).toEqual([[1], 0]);
  });

  it("is not reached by many events that are each inside it", () => {
    const stream = utf8(inside.repeat(3));
    for (const chunks of chunkings(stream)) {
      const heard = hear(chunks, limit);
      if (heard.tooLarge || heard.events.length !== 3)
        expect(heard, `cut after byte ${chunks[0]!.length}`).toMatchObject({ tooLarge: false });
    }
  });
});

describe("The time to decode", () => {
  const MiB = 1024 * 1024;
  const shapes: Readonly<Record<string, (size: number) => string>> = {
    "one line": (size) => `data: ${"x".repeat(size)}\n\n`,
    "many data lines": (size) => `${`data: ${"x".repeat(1017)}\n`.repeat(size / 1024)}\n`,
  };
  it.each(Object.entries(shapes))("one event of %s grows with its length and no faster", async (_, stream) => {
    // Small enough that collecting garbage does not outweigh the work.
    const make = (size: number) => {
      const bytes = utf8(stream(size));
      const chunks = Array.from({ length: Math.ceil(bytes.length / 1024) }, (_, i) =>
        bytes.subarray(i * 1024, (i + 1) * 1024),
      );
      return () => hear(chunks);
    };
    expect(await measureGrowth(make, MiB, 2.6)).toBeLessThanOrEqual(2.6);
  });
});
