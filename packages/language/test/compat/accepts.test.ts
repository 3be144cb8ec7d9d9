import { readFileSync } from "node:fs";
import type { ContractDocument, Schema } from "@parlance/wire";
import { describe, expect, it } from "vitest";
import { accepts } from "../../src/compat/accepts.js";
import { spaceOf } from "../../src/compat/space.js";
import { table } from "../pets.js";

/** Two versions of a schema, and whether each accepts what the other allows to be sent: "yes", "no" or "unclear". */
interface Row {
  readonly part: string;
  readonly change: string;
  readonly old: Schema;
  readonly now: Schema;
  /** Whether the new version reads what the old one writes. */
  readonly forth: string;
  /** Whether the old version reads what the new one writes. */
  readonly back: string;
}

const rows: readonly Row[] = table(readFileSync(new URL("./accepts.jsonl", import.meta.url), "utf8"));

const documentOf = (schema: Schema) =>
  ({
    contract: { name: "x" },
    source: { formats: { ticket: { pattern: "^T-[0-9]+$" }, note: { description: "Any." } } },
    schemas: {
      X: { $id: "/x/messages/x.json", title: "X", type: "object", properties: { v: schema }, required: ["v"] },
    },
    files: {},
    transcripts: {},
  }) as unknown as ContractDocument;

describe.each([...new Set(rows.map(({ part }) => part))])("accepts, of %s", (part) => {
  it.each(rows.filter((row) => row.part === part))("decides on $change", ({ old, now, forth, back }) => {
    const space = spaceOf({ old: documentOf(old), now: documentOf(now) });
    const [a, b] = ["old", "now"].map((age) => space.resolve(`${age}:/x/messages/x.json`)!) as [Schema, Schema];
    const verdicts = [accepts(space, b, a), accepts(space, a, b)];
    expect(verdicts.map(({ is }) => is)).toEqual([forth, back]);
  });
});
