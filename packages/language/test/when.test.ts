import { lint } from "@parlance/language/lint";
import { assemble, type ContractFolder } from "@parlance/language/load";
import { describe, expect, test } from "vitest";

type Place = "body" | "query";

/** Two operations of one route, told apart by `stream` in the body or the query. */
function folder(place: Place, live: object, whole: object, reversed: boolean): ContractFolder {
  const { required: isLive, ...liveSchema } = live as { required?: true };
  const { required: isWhole, ...wholeSchema } = whole as { required?: true };
  const operation = (stream: boolean, required: true | undefined, schema: object) => ({
    method: place === "query" ? "GET" : "POST",
    path: "/chat",
    summary: "Chat.",
    when: { stream },
    ...(place === "query"
      ? { parameters: { stream: { in: "query", type: "boolean", required, ...schema } } }
      : { body: `messages/${stream}.json` }),
    answer: { status: 204 },
  });
  const body = (title: string, required: true | undefined, schema: object) => ({
    title,
    type: "object",
    properties: { stream: { type: "boolean", ...schema } },
    required: required ? ["stream"] : [],
    examples: [required ? { stream: title === "Live" } : {}],
  });
  const operations = [
    ["live", operation(true, isLive, liveSchema)],
    ["whole", operation(false, isWhole, wholeSchema)],
  ] as const;
  const files = {
    "contract.json": {
      format: 1,
      name: "made-up",
      title: "Made up",
      url: "http://localhost:1",
      tag: { in: "event" },
      messages: {},
      operations: Object.fromEntries(reversed ? [...operations].reverse() : operations),
      channels: {},
      fault: { schema: "messages/fault.json", text: ["/error"] },
    },
    "messages/fault.json": {
      title: "FaultBody",
      type: "object",
      properties: { error: { type: "string" } },
      examples: [{ error: "x" }],
    },
    ...(place === "body" && {
      "messages/true.json": body("Live", isLive, liveSchema),
      "messages/false.json": body("Whole", isWhole, wholeSchema),
    }),
  };
  const texts = Object.entries(files).map(([file, value]) => [file, JSON.stringify(value)]);
  return { name: "made-up", files: Object.fromEntries(texts) };
}

const places = (["body", "query"] as const).flatMap((place) => [[place, false] as const, [place, true] as const]);
const required = { required: true };

describe.each(places)("With `stream` in the %s, the operations reversed: %s", (place, reversed) => {
  test.each<[live: object, whole: object, absent: string | undefined]>([
    [required, {}, "whole"],
    [{}, required, "live"],
    [required, required, undefined],
    [{ default: true }, {}, "live"],
    [{}, { default: false }, "whole"],
    [{ default: false }, { default: false }, "whole"],
    [{ default: true }, { default: true }, "live"],
    [required, { default: false }, "whole"],
    [required, { default: true }, undefined],
  ])("live %j and whole %j: without it, %s is meant", async (live, whole, absent) => {
    const read = folder(place, live, whole, reversed);
    expect(await lint(read)).toEqual([]);
    const { operations } = assemble(read).contract;
    for (const name of ["live", "whole"])
      expect(operations[name]!.absent, name).toEqual(name === absent ? ["stream"] : undefined);
  });

  test.each([
    [{}, {}],
    [{ default: true }, { default: false }],
  ])("live %j and whole %j are refused: without it, both are meant", async (live, whole) => {
    const findings = await lint(folder(place, live, whole, reversed));
    expect(findings.map(({ rule, pointer }) => [rule, pointer])).toEqual([
      ["when", `/operations/${reversed ? "live" : "whole"}/when`],
    ]);
  });
});
