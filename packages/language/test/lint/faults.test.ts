import { lint } from "@parlance/language/lint";
import { describe, expect, it } from "vitest";
import { pets } from "../pets.js";

const text = { type: "string" };
const nested = (inner: object, required: string[]) => ({
  "fault#/properties/error": { type: "object", properties: { message: text, ...inner }, required },
  "fault#/examples": [],
  "#/fault/text": ["/error/message"],
});

const refused: [what: string, set: Record<string, unknown>, why: string][] = [
  [
    "a property that is required and has no place",
    { "fault#/required": ["error", "number"], "fault#/properties/number": { type: "integer" } },
    "/number is required, and no place of the fault fills it; make it optional, or name its place",
  ],
  [
    "a property inside another that has no place",
    nested({ type: text }, ["message", "type"]),
    "/error/type is required, and no place of the fault fills it; make it optional, or name its place",
  ],
  [
    "details that are required, and a refusal may have none",
    {
      "fault#/required": ["error", "details"],
      "fault#/properties/details": { type: "object" },
      "#/fault/details": ["/details"],
    },
    "/details is required, and no place of the fault fills it; make it optional, or name its place",
  ],
  [
    "a text of another type",
    { "fault#/properties/error": { type: "integer" }, "fault#/examples": [] },
    "/error must be integer where a server fills in its own code and text; allow them there",
  ],
  [
    "codes without one of a server's own failures",
    {
      "fault#/properties/code": { enum: ["gone"] },
      "#/fault/code": ["/code"],
    },
    "/code must be equal to one of the allowed values where a server fills in its own code and text; allow them there",
  ],
];

const accepted: [what: string, set: Record<string, unknown>][] = [
  ["a text and nothing else", {}],
  [
    "details that have a value where there are none",
    {
      "fault#/required": ["error", "details"],
      "fault#/properties/details": { type: "object" },
      "#/fault/details": ["/details"],
      "#/fault/noDetails": {},
    },
  ],
  [
    "the code of any failure",
    {
      "fault#/properties/code": { enum: ["gone", "failed", "bad"] },
      "#/fault/code": ["/code"],
      "#/fault/codes": {
        gone: { status: 404, description: "No such pet." },
        bad: { status: 400, generic: true, description: "Bad." },
        failed: { status: 500, generic: true, description: "Failed." },
      },
    },
  ],
];

describe("the body of a refusal", () => {
  it.each(refused)("is refused with %s", async (_, set, why) => {
    const found = (await lint(pets({ set }), { patterns: false })).filter(({ rule }) => rule === "fault");
    expect(found.map(({ pointer, message }) => `${pointer} ${message}`)).toEqual([
      `/fault cannot be written by messages/fault.json: ${why}`,
    ]);
  });

  it.each(accepted)("may have %s", async (_, set) => {
    expect((await lint(pets({ set }), { patterns: false })).filter(({ rule }) => rule === "fault")).toEqual([]);
  });
});

describe("a message of a failure", () => {
  const over = { "over#/properties/why": text, "#/messages/over/fault": { text: ["/why"] } };
  const places = {
    "the fault of a stream": { "#/operations/talk/answer/stream/fault": "over" },
    "the fault of a channel": { "#/channels/line/fault": "over", "#/channels/line/server/2": "over" },
  };
  it.each(Object.entries(places))("is built as %s", async (_, place) => {
    const at = async (required: string[]) => {
      const set = { ...over, ...place, "over#/properties/number": { type: "integer" }, "over#/required": required };
      const kept = { ...set, "over#/examples": [{ kind: "over", why: "a", number: 1 }] };
      return (await lint(pets({ set: kept }), { patterns: false })).map(({ pointer, message }) => [pointer, message]);
    };
    expect(await at(["kind", "why"])).toEqual([]);
    expect(await at(["kind", "why", "number"])).toEqual([
      [
        "/messages/over/fault",
        "cannot be written by messages/over.json: /number is required, and no place of the fault fills it; make it optional, or name its place",
      ],
    ]);
  });

  it("is not built where no stream or channel names it", async () => {
    const set = { ...over, "over#/properties/number": { type: "integer" }, "over#/required": ["kind", "number"] };
    const kept = { ...set, "over#/examples": [{ kind: "over", number: 1 }] };
    expect(await lint(pets({ set: kept }), { patterns: false })).toEqual([]);
  });
});
