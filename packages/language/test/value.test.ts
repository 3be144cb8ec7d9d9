import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { describe, expect, test } from "vitest";
import { declaredFormats } from "../src/source.js";
import { pets } from "./pets.js";

describe("A contract that was loaded, as a value", () => {
  const formats = { ticket: { description: "A ticket.", pattern: "^T-[0-9]+$" }, note: { description: "A note." } };
  const set = {
    "#/formats": formats,
    "#/faults": { "401": { description: "Who?" }, "503": { description: "Busy." } },
    "#/operations/tell/answer/headers": { ETag: { type: "string", required: true } },
    "said#/properties/text/format": "ticket",
    "said#/examples/0/text": "T-1",
    "reply#/properties/ask_id/format": "uuid",
  };
  const value = contractValue(assemble(pets({ set })));

  test("has what its contract says, without the rules that it reads by", () => {
    const { checks, reads, accepts, ...contract } = value;
    const { reading, ...own } = assemble(pets({ set })).contract;
    expect(contract).toEqual(own);
    expect(reading).toHaveLength(1);
    expect(reads.message!({ TEXT: "a" })).toEqual({ text: "a" });
  });

  test("checks what a server writes: faults, answers, headers and messages, and nothing twice", () => {
    expect(Object.keys(value.checks).sort()).toEqual(
      ["AskMessage", "FaultBody", "OverMessage", "SaidMessage", "TellHeaders", "Word"].sort(),
    );
    const { SaidMessage, Word, TellHeaders, FaultBody } = value.checks as Record<
      string,
      { (data: unknown): boolean; errors?: unknown }
    >;
    expect([Word!("sit"), Word!("SIT"), FaultBody!({ error: "no" }), FaultBody!({})]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect([TellHeaders!({ ETag: "1" }), TellHeaders!({})]).toEqual([true, false]);
    expect(SaidMessage!({ kind: "said", text: "woof" })).toBe(false);
    expect(SaidMessage!.errors).toMatchObject([{ keyword: "format", instancePath: "/text" }]);
    // As in generated code: a flaw's words are made where they are read.
    expect(SaidMessage!.errors).not.toHaveProperty("0.message");
    expect(SaidMessage!({ kind: "said", text: "T-7" })).toBe(true);
    expect(SaidMessage!.errors).toBeNull();
  });

  test("accepts what a client writes: inputs and messages, the same checks each time", async () => {
    const accepts = await value.accepts();
    expect(Object.keys(accepts.checks).sort()).toEqual(["LineInput", "ReplyMessage", "TalkInput", "TellInput"]);
    const checks = accepts.checks as Record<string, (data: unknown) => boolean>;
    expect(checks.TalkInput!({ pet_id: "1", words: ["sit"], mood: "glad" })).toBe(true);
    for (const wrong of [{ pet_id: "1" }, { pet_id: "1", words: ["SIT"] }, { pet_id: "1", words: [], mood: "so-so" }])
      expect(checks.TalkInput!(wrong)).toBe(false);
    expect(checks.LineInput!({})).toBe(false);
    expect(checks.ReplyMessage!({ kind: "reply", ask_id: "no uuid", yes: true })).toBe(false);
    expect((await value.accepts()).checks).toBe(accepts.checks);
    expect(accepts.faults).toEqual([401, 503]);
    expect(accepts.reads.message).toBeUndefined();
    expect(await accepts.examples!()).toEqual({
      examples: {
        schemas: {
          FaultBody: { error: "no such pet" },
          Word: "sit",
          AskMessage: { kind: "ask", ask_id: "1" },
          SaidMessage: { kind: "said", text: "T-1" },
          OverMessage: { kind: "over" },
          TellHeaders: { ETag: "example" },
        },
        texts: {},
      },
    });
  });

  test("has no check for an input of nothing", async () => {
    const bare = {
      "#/operations/ping": { method: "GET", path: "/ping", summary: "Ping.", answer: { status: 204 } },
      "#/channels/open": { path: "/open", summary: "Open.", client: ["reply"], server: ["ask"] },
    };
    const { checks } = await contractValue(assemble(pets({ set: bare }))).accepts();
    expect(Object.keys(checks)).not.toContain("PingInput");
    expect(Object.keys(checks)).not.toContain("OpenInput");
  });

  test("has formats of its own: a pattern, or any value", () => {
    const declared = declaredFormats({ formats });
    expect([...declared]).toEqual([
      ["ticket", /^T-[0-9]+$/u],
      ["note", true],
    ]);
    expect([...declaredFormats({})]).toEqual([]);
  });
});
