import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPatch } from "../../src/diff/create.js";
import type { FilePatch, Patch } from "../../src/patch.js";
import { parseBeginPatch } from "../../src/read/begin-patch.js";
import { asText, changeOf, gather } from "../../src/read/change.js";
import { parseEditBlocks } from "../../src/read/edit-block.js";
import { parseEdits } from "../../src/read/edits.js";
import { parseSearchReplace } from "../../src/read/search-replace.js";
import { parseStrReplace } from "../../src/read/str-replace.js";
import { parseWholeFiles } from "../../src/read/whole-file.js";
import type { Reading } from "../../src/reading.js";
import { takeApart } from "../../src/sides.js";
import { applied } from "../laws.js";
import { random } from "../random.js";
import { seeded } from "../seed.js";
import { editText, readSources } from "../sources.js";
import {
  type Write,
  writeBeginPatch,
  writeDashes,
  writeEditBlocks,
  writeSearchReplace,
  writeStrReplace,
  writeWholeFiles,
} from "./writers.js";

const numRuns = process.env.PARLANCE_LONG ? 20_000 : 1_000;
const seed = seeded(20_261_121);

interface FormPair {
  readonly name: string;
  readonly write: Write;
  readonly parse: (text: string) => Reading;
  /** Whether the format says where a hunk stands. */
  readonly placed: boolean;
}

const pairs: readonly FormPair[] = [
  { name: "edit blocks", write: writeEditBlocks, parse: parseEditBlocks, placed: true },
  { name: "SEARCH/REPLACE", write: writeSearchReplace, parse: parseSearchReplace, placed: false },
  {
    name: "SEARCH/REPLACE with dashes and line hints",
    write: writeDashes,
    parse: parseSearchReplace,
    placed: true,
  },
  { name: "Begin Patch", write: writeBeginPatch, parse: parseBeginPatch, placed: false },
  {
    name: "str_replace",
    write: writeStrReplace,
    parse: parseStrReplace,
    placed: false,
  },
  { name: "whole files", write: writeWholeFiles, parse: parseWholeFiles, placed: false },
];

/** The patch as blocks say it: each hunk the difference of its two texts, facts about the file's end only where they differ. */
function asBlocks(patch: Patch, { placed, name }: FormPair): Patch {
  return gather(
    patch.files.flatMap((file) =>
      file.hunks.length === 0
        ? [file]
        : file.hunks.map((hunk) => {
            const { old, new: now } = takeApart(hunk);
            const facts = file.kind !== "modify" || hunk.oldNoNewline !== hunk.newNoNewline;
            const keep = placed || file.kind !== "modify" || (name === "str_replace" && old.length === 0);
            const start = keep ? hunk.oldStart! + (old.length === 0 ? 1 : 0) : null;
            const change = changeOf(
              asText(old, !(facts && hunk.oldNoNewline)),
              asText(now, !(facts && hunk.newNoNewline)),
              start,
            );
            const anchors = name === "Begin Patch" && file.kind === "modify" && { anchors: [] };
            return { ...file, hunks: [{ ...change!, ...anchors }] } satisfies FilePatch;
          }),
    ),
  );
}

/** Lines that look like the formats' own. */
const TRAPS = [
  ..."```|````edit|```|~~~|<<<<<<< SEARCH|=======|>>>>>>> REPLACE|------- SEARCH|-------|+++++++ REPLACE|\\=======|*** End Patch|*** Begin Patch|*** Update File: x|@@|@@ -1 +1 @@|--- a/x|+++ b/x".split(
    "|",
  ),
  ..."file: x|old_content: |new_content: |reason: x|  indented|\ttab|    |src/a.ts|:start_line:3|<<<<<<< HEAD|>>>>>>> topic|*** End of File".split(
    "|",
  ),
  ...["", "", "a", "b", "a|", "\r", "a\r", "🎉", "\u2028", "\ufeff", "  - x", "<path>a</path>", "|", "|-", ">"],
];
const lines = fc.array(
  fc.oneof(
    fc.constantFrom(...TRAPS),
    fc.string({ maxLength: 6 }).map((line) => line.replaceAll("\n", "")),
  ),
  { maxLength: 7 },
);
const path = fc.constantFrom("a.txt", "src/deep/b.ts", "with blank.md", "ü/🎉.c", "it's.txt", "Makefile", "x.y/z");
const reason = fc.constantFrom(
  undefined,
  "because",
  "a: b",
  "- x",
  "|",
  "'quoted'",
  '"q"',
  " padded ",
  "two\nlines",
  "# no comment",
  "# c #",
);

describe.each(pairs)("$name", (pair) => {
  const { name, write, parse } = pair;
  const whole = name === "whole files";

  it("gives back every patch that it can write, whatever stands in its lines", () => {
    let written = 0;
    const property = fc.property(
      path,
      lines,
      lines,
      fc.nat(50),
      fc.constantFrom("modify", "create", "delete"),
      reason,
      fc.boolean(),
      fc.boolean(),
      (at, old, now, start, kind, why, oldEnd, newEnd) => {
        const before = kind === "create" ? [] : old;
        const after = kind === "delete" ? [] : now;
        const hunk = changeOf(
          asText(before, oldEnd || before.length === 0),
          asText(after, newEnd || after.length === 0),
          kind === "modify" ? start + 1 : 1,
        );
        if (hunk === null) return;
        const sides = { before: kind === "create" ? null : at, after: kind === "delete" ? null : at };
        const file: FilePatch = {
          kind: kind as FilePatch["kind"],
          ...sides,
          hunks: [hunk],
          ...(name === "edit blocks" && why !== undefined && { reason: why }),
        };
        const text = write({ files: [file] });
        if (text === null) return;
        written++;
        const expected = asBlocks({ files: [file] }, pair);
        const found = parse(text);
        expect(found.ok ? found.patch : found).toEqual(
          whole
            ? { files: [{ ...file, kind: "modify", before: at, whole: true }] }
            : name === "Begin Patch" && kind === "delete"
              ? { files: [{ ...file, hunks: [] }] }
              : expected,
        );
      },
    );
    fc.assert(property, { numRuns, seed });
    expect(written).toBeGreaterThan(numRuns / 10);
  });

  it("gives back patches of real files, which then apply as before", () => {
    const draw = random(seed);
    let same = 0;
    for (const before of readSources(60)) {
      const after = editText(draw, before, 1 + draw.below(6));
      const patch = whole
        ? createPatch("", after, { path: "src/x.ts", oldPath: null })
        : createPatch(before, after, { path: "src/x.ts" });
      if (patch.files.length === 0) continue;
      const text = write(patch);
      if (text === null) continue;
      const reading = parse(text);
      if (!reading.ok) expect.fail(JSON.stringify(reading.errors));
      if (!whole) expect(reading.patch).toEqual(asBlocks(patch, pair));
      if (!whole && name !== "str_replace")
        expect(parseEdits(`Here:\n\n${text}\nDone.\n`)).toMatchObject({ ok: true, patch: reading.patch });
      if (pair.placed || whole) expect(applied(reading.patch, whole ? "" : before)).toBe(after);
      same++;
    }
    expect(same).toBeGreaterThan(30);
  });
});
