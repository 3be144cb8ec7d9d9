import { type AnyContract, type AnyMessage, type Check, type Reads, type Tag, Violation } from "@parlance/wire";
import { codec, messageEncoder } from "@parlance/wire/message";
import { describe, expect, test } from "vitest";

const contractOf = (tag: Tag) =>
  ({
    name: "p",
    tag,
    messages: { said: { schema: "Word" }, done: { schema: "Done" }, other: { schema: "Other" } },
  }) as unknown as AnyContract;
const byProperty = contractOf({ in: "property", property: "type" });
const byBoth = contractOf({ in: "property", property: "kind", event: true });
const byEvent = contractOf({ in: "event" });
const options = { side: "server", names: ["said", "done"], reads: {} as Reads } as const;

const said = (text: unknown) => ({ type: "said", text }) as unknown as AnyMessage;

const thrown = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
};

/** A check that refuses the text "bad". */
const check: Check = Object.assign(
  (body: { text?: unknown }) => {
    (check as { errors?: unknown }).errors =
      body.text === "bad" ? [{ instancePath: "/text", keyword: "const", params: { allowedValue: "good" } }] : undefined;
    return body.text !== "bad";
  },
  { errors: undefined },
) as never;
const checks = { Word: check, Done: check };
const flawed = {
  message: "p: `text` must be good in the message said (from the server)",
  code: "schema",
  protocol: "p",
  side: "server",
  subject: "said",
  flaws: [{ at: "/text", keyword: "const", params: { allowedValue: "good" } }],
};

describe("A message", () => {
  test.each([byBoth, byEvent])("keeps its own type where its body has a property type", (contract) => {
    const { decode } = codec(contract, options);
    const read = decode({ event: "said", data: '{"kind":"said","type":"done","text":"a"}' });
    expect(read).toMatchObject({ message: { type: "said", text: "a" } });
  });

  test.each([
    ["\u0085", "\\u0085"],
    ["\u2028", "\\u2028"],
    ["\u2029", "\\u2029"],
    ["a\u0085b\u2028c\u2029\u0085", "a\\u0085b\\u2028c\\u2029\\u0085"],
    ["a\n\r\t\u0000é\u2027\u202a\u0084", "a\\n\\r\\t\\u0000é\u2027\u202a\u0084"],
  ])("is one line for every reader, with no more escaped than that: %j", (text, escaped) => {
    const { encode, decode } = codec(byProperty, options);
    const written = encode(said(text));
    expect(written).toEqual({ event: undefined, data: `{"type":"said","text":"${escaped}"}` });
    expect(decode(written)).toEqual({ message: said(text) });
  });

  test.each([
    [byProperty, { event: undefined, data: '{"type":"said","text":"a"}' }],
    [byBoth, { event: "said", data: '{"kind":"said","text":"a"}' }],
    [byEvent, { event: "said", data: '{"text":"a"}' }],
  ])("is written with its tag, and read by it", (contract, written) => {
    const { encode, decode } = codec(contract, options);
    expect(encode(said("a"))).toEqual(written);
    expect(decode(written)).toEqual({ message: said("a") });
  });

  test.each([
    [{ type: "other" }, '"other"', "other"],
    [{ type: "no" }, '"no"', "no"],
    [{ type: 7 }, '{"type":7}', undefined],
    [{}, "{}", undefined],
    ["said", '"said"', undefined],
    [null, "null", undefined],
    [undefined, "undefined", undefined],
    [["said"], '["said"]', undefined],
  ])("that its side does not send here is not written: %j", (message, shown, subject) => {
    const error = thrown(() => messageEncoder(byProperty, options)(message as never)) as Violation;
    expect(error).toBeInstanceOf(Violation);
    expect(error.message).toContain(`${shown} is not a message of the server here: it sends said, done`);
    expect(error).toMatchObject({ code: "unknown_message", protocol: "p", side: "server", subject });
  });

  test("is checked both ways where there are checks, and not without them", () => {
    const bad = { data: '{"type":"said","text":"bad"}' };
    const checked = codec(byProperty, { ...options, checks });
    expect(thrown(() => checked.encode(said("bad")))).toMatchObject(flawed);
    expect(thrown(() => checked.decode(bad))).toMatchObject(flawed);
    expect(checked.decode(checked.encode(said("good")))).toEqual({ message: said("good") });
    const unchecked = codec(byProperty, options);
    expect(unchecked.decode(unchecked.encode(said("bad")))).toEqual({ message: said("bad") });
  });

  test("whose check is missing is a mistake that is found at once", () => {
    expect(thrown(() => codec(byProperty, { ...options, checks: { Word: check } }))).toMatchObject({
      name: "TypeError",
      code: "usage",
      message: "the contract p has no check for Done: generate it again",
    });
  });
});

describe("What arrives", () => {
  test.each([
    ["[]", undefined],
    ["7", "said"],
    ["null", undefined],
    ['"text"', "said"],
  ])("is a violation where it is no object: %s", (data, event) => {
    const error = { code: "not_an_object", protocol: "p", side: "server", subject: event };
    for (const contract of [byProperty, byBoth])
      expect(thrown(() => codec(contract, options).decode({ event, data }))).toMatchObject(error);
  });

  test.each(["0", "7.5", "true", "null", '"text"', "[1]"])(
    "is a message by its event also where no schema asks for an object: %s",
    (data) => {
      expect(codec(byEvent, options).decode({ event: "said", data })).toMatchObject({ message: { type: "said" } });
    },
  );

  test("is a violation where it is no JSON, named after its event", () => {
    const error = { code: "malformed_json", protocol: "p", side: "server", subject: "said" };
    expect(thrown(() => codec(byProperty, options).decode({ event: "said", data: "{" }))).toMatchObject(error);
  });

  test.each<[contract: AnyContract, event: string | undefined, body: object]>([
    [byProperty, undefined, { type: "other" }],
    [byProperty, undefined, { type: 7 }],
    // The name of the event is of the tag only where the contract says so.
    [byProperty, "said", { text: "a" }],
    [byBoth, undefined, { text: "a" }],
    [byBoth, "said", { kind: "other" }],
    [byEvent, "other", { text: "a" }],
    [byEvent, undefined, { type: "said" }],
  ])("is unknown, and given as it came, where no message has its name", (contract, event, body) => {
    const read = codec(contract, { ...options, checks }).decode({ event, data: JSON.stringify(body) });
    expect(read).toEqual({ unknown: { event, body } });
  });

  test.each([
    ["said", '{"text":"a"}', "said"],
    ["said", '{"kind":"done","text":"a"}', "done"],
    [undefined, '{"kind":"done","text":"a"}', "done"],
    ["said", '{"kind":null,"text":"a"}', "said"],
  ])("is named by its event %j only where it has no name itself: %s", (event, data, type) => {
    expect(codec(byBoth, options).decode({ event, data })).toEqual({ message: { type, text: "a" } });
  });

  test("has the name of its event in the body that is checked", () => {
    const seen: unknown[] = [];
    const note = Object.assign((body: unknown) => seen.push({ ...(body as object) }) > 0, { errors: null }) as never;
    codec(byBoth, { ...options, checks: { Word: note, Done: note } }).decode({ event: "said", data: '{"text":"a"}' });
    expect(seen).toEqual([{ text: "a", kind: "said" }]);
  });

  test("is read as its contract's reader has it, before it is named and checked", () => {
    const message = ({ was, ...rest }: { was?: string }) => ({ ...rest, type: was });
    const reads = { message } as unknown as Reads;
    const { decode } = codec(byProperty, { ...options, reads, checks });
    expect(decode({ data: '{"was":"said","text":"a"}' })).toEqual({ message: said("a") });
    expect(thrown(() => decode({ data: '{"was":"said","text":"bad"}' }))).toMatchObject(flawed);
  });
});
