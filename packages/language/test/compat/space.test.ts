import { assemble } from "@parlance/language/load";
import type { Schema } from "@parlance/wire";
import { expect, it } from "vitest";
import { titled, versionsOf } from "../../src/compat/place.js";
import { sameSchema } from "../../src/compat/space.js";
import { pets } from "../pets.js";

// References of a version lead to its own schemas at every place.
const word = { $ref: "word.json" };
const forms: [string, Schema][] = [
  ["alone", word],
  ["beside a checked keyword", { ...word, minLength: 1 }],
  ["beside prose", { ...word, description: "A word." }],
  ["in an allOf", { allOf: [word], minLength: 1 }],
  ["in an alternative, beside a checked keyword", { oneOf: [{ ...word, minLength: 1 }, { type: "null" }] }],
];

/** Whether the schema of `said` is the same in two versions of the pets, between which something else changes too. */
function isSame(text: Schema, changed: Readonly<Record<string, unknown>>): boolean {
  const edit = (set: object) => assemble(pets({ set: { "said#/properties/text": text, ...set } as never }));
  const versions = versionsOf(edit({}), edit({ "said#/description": "Says.", ...changed }));
  const [old, now] = (["old", "now"] as const).map((age) => titled(versions, age, "SaidMessage").schema);
  return sameSchema(versions.space, old!, now!);
}

it.each(forms)("takes a reference %s for the same when its target has not changed", (_, text) => {
  expect(isSame(text, {})).toBe(true);
});

it.each(forms)("takes a reference %s for another when its target has changed", (_, text) => {
  expect(isSame(text, { "word#/maxLength": 5 })).toBe(false);
});
