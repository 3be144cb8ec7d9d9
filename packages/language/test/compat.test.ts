import { readFileSync } from "node:fs";
import { type Change, compat } from "@parlance/language/compat";
import { assemble } from "@parlance/language/load";
import { describe, expect, test } from "vitest";
import { type Edit, pets, table } from "./pets.js";

interface Case extends Edit {
  readonly part: string;
  readonly change: string;
  /** What the old contract has that the sound one has not. */
  readonly before?: Edit;
  /** Whom it breaks of client, server and source (or nobody), the place, what changed, the reason of the verdict, and an example. */
  readonly changes: readonly string[];
}

const cases: readonly Case[] = table(readFileSync(new URL("./compat.jsonl", import.meta.url), "utf8"));
const parts = [...new Set(cases.map(({ part }) => part))];

const told = ({ breaks, file, pointer, what, why, example, unclear }: Change) =>
  `${unclear ? "unclear" : breaks.join("+") || "nobody"}: ${file}#${pointer} ${what} (${why})${example === undefined ? "" : ` ${JSON.stringify(example)}`}`;

describe.each(parts)("compat of %s", (part) => {
  test.each(cases.filter((one) => one.part === part))("tells $change", ({ before, changes, ...edit }) => {
    const found = compat(assemble(pets(before)), assemble(pets(edit)));
    expect(found.map(told)).toEqual(changes);
  });

  test.each(cases.filter((one) => one.part === part))("finds nothing between $change and itself", (edit) => {
    const document = assemble(pets(edit));
    expect(compat(document, document)).toEqual([]);
  });
});
