import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { acp } from "@parlance/protocols/acp";
import type { Json } from "@parlance/wire";
import { beforeAll, describe, expect, it } from "vitest";

// What the schema of ACP tolerates, as generated code reads it, beside the same read step by step.

const update = (fields: object) => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: { sessionId: "s", update: { sessionUpdate: "tool_call", toolCallId: "t", title: "Read", ...fields } },
});
const full = {
  kind: "read",
  status: "pending",
  content: [
    { type: "content", content: { type: "text", text: "a" } },
    { type: "diff", path: "/a", newText: "b" },
  ],
  locations: [{ path: "/a", line: 1 }],
  rawInput: { a: 1 },
  _meta: null,
};
const readUpdate = acp.reads.tolerant![acp.messages["session/update"]!.schema]!;

describe("an update of ACP", () => {
  it.each<[what: string, fields: object, read: object]>([
    ["loses an optional field with a new value", { kind: "teleport" }, {}],
    ["loses an item of a list with a new type", { content: [{ type: "hologram" }] }, { content: [] }],
    ["keeps the items that it knows", { locations: [{ path: "/a" }, { path: 7 }] }, { locations: [{ path: "/a" }] }],
    ["keeps what fits", { kind: "read", rawInput: { a: 1 } }, { kind: "read", rawInput: { a: 1 } }],
  ])("%s", (_, fields, read) => {
    const message = update(fields);
    expect(readUpdate(message)).toBe(true);
    expect(message).toEqual(update(read));
  });

  it("is refused without a field that it needs", () => {
    expect(readUpdate(update({ title: 7 }))).toBe(false);
    expect(readUpdate.errors).toMatchObject([{ instancePath: "/params/update/title" }]);
  });
});

describe("the readers of ACP", () => {
  let interpreted: ReturnType<typeof contractValue>;
  const examples: (readonly [title: string, value: Json])[] = [];
  beforeAll(async () => {
    examples.push([acp.messages["session/update"]!.schema, update(full) as Json]);
    const document = await load(new URL("../../../schemas/acp", import.meta.url).pathname);
    interpreted = contractValue(document);
    for (const title of Object.keys(acp.reads.tolerant!))
      for (const value of document.schemas[title]?.examples ?? []) examples.push([title, value]);
  });

  it("agree on examples with one odd value at any place", () => {
    let tolerated = 0;
    let refused = 0;
    for (const [title, example] of examples)
      for (const odd of changed(example)) {
        const [one, other] = [structuredClone(odd), structuredClone(odd)];
        const fits = acp.reads.tolerant![title]!(one);
        expect(interpreted.reads.tolerant![title]!(other), `${title} ${JSON.stringify(odd)}`).toBe(fits);
        expect(other).toEqual(one);
        if (!fits) refused++;
        else if (!acp.checks[title]!(odd)) tolerated++;
      }
    expect(Math.min(tolerated, refused)).toBeGreaterThan(20);
  });
});

/** A value with each of its places replaced by each of some others. */
function* changed(value: Json): Generator<Json> {
  for (const other of [null, 7, "odd", [], {}, ["odd"], [{}]] as Json[]) yield other;
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value))
    for (const one of changed(inner as Json))
      yield (Array.isArray(value) ? value.toSpliced(Number(key), 1, one) : { ...value, [key]: one }) as Json;
}
