import { expect, test } from "vitest";
import * as editor from "../../src/editor.js";
import * as edits from "../../src/index.js";

const patch = edits.createPatch("a\n", "b\n", { path: "x" });
const [file] = patch.files;
const text = "a\n";
const CONFLICT: edits.Conflict = { hunk: "h", reason: "stale", at: null, candidates: [], total: 0, rung: "exact" };

/** Each public function that takes a text or a patch, with one of these for the argument that is named. */
const CALLS: Record<string, (wrong: never) => unknown> = {
  "createPatch before": (wrong) => edits.createPatch(wrong, text),
  "createPatch after": (wrong) => edits.createPatch(text, wrong),
  "applyPatch patch": (wrong) => edits.applyPatch(wrong, text),
  "applyPatch text": (wrong) => edits.applyPatch(patch, wrong),
  "applyPatch in a range text": (wrong) => edits.applyPatch(patch, wrong, { at: { line_start: 1 } }),
  "applyStrictly patch": (wrong) => edits.applyStrictly(wrong, text),
  "applyStrictly text": (wrong) => edits.applyStrictly(patch, wrong),
  "parsePatch text": (wrong) => edits.parsePatch(wrong),
  "parseStrictly text": (wrong) => edits.parseStrictly(wrong),
  "parseEdits text": (wrong) => edits.parseEdits(wrong),
  "parseSearchReplace text": (wrong) => edits.parseSearchReplace(wrong),
  "parseBeginPatch text": (wrong) => edits.parseBeginPatch(wrong),
  "parseEditBlocks text": (wrong) => edits.parseEditBlocks(wrong),
  "parseWholeFiles text": (wrong) => edits.parseWholeFiles(wrong),
  "a reader's push text": (wrong) => edits.readEdits().push(wrong),
  "formatPatch patch": (wrong) => edits.formatPatch(wrong),
  "invertPatch patch": (wrong) => edits.invertPatch(wrong),
  "selectHunks patch": (wrong) => edits.selectHunks(wrong, []),
  "merge3 base": (wrong) => edits.merge3(wrong, "b", text),
  "merge3 ours": (wrong) => edits.merge3(text, wrong, "b"),
  "merge3 theirs": (wrong) => edits.merge3(text, "b", wrong),
  "explainConflict patch": (wrong) => edits.explainConflict(CONFLICT, wrong, text),
  "explainConflict text": (wrong) => edits.explainConflict(CONFLICT, patch, wrong),
  "toTextEdits text": (wrong) => editor.toTextEdits(file!, wrong),
  "toWorkspaceEdit patch": (wrong) => editor.toWorkspaceEdit(wrong, () => ({ uri: "file:///x", version: 1, text })),
};

test.each(Object.keys(CALLS))("%s that is none is a TypeError that names it", (call) => {
  const name = call.split(" ").at(-1)!;
  for (const wrong of [undefined, null, 5, {}])
    expect(() => CALLS[call]!(wrong as never)).toThrow(new RegExp(`^\`${name}\` must be a (?:string|patch), not `));
});

const PATH: readonly unknown[] = [5, null, {}];
const FLAG: readonly unknown[] = [1, "yes", null];
const NUMBER: readonly unknown[] = ["3", null, Number.NaN, {}];
const READ = { path: PATH, limit: NUMBER };
const APPLY = { loosest: ["contxt", 5, null], at: [5, null] };
type Options = Readonly<Record<string, readonly unknown[]>>;

/** Each public function that takes options, with values of each that it has no meaning for. */
const OPTIONS: Record<string, [call: (options: never) => unknown, options: Options]> = {
  applyPatch: [(options) => edits.applyPatch(patch, text, options), APPLY],
  "applyPatch in a range": [
    (at) => edits.applyPatch(patch, text, { at }),
    { line_start: ["1", null, Number.NaN], line_end: ["1", null] },
  ],
  applyStrictly: [(options) => edits.applyStrictly(patch, text, options), { unidiffZero: FLAG }],
  createPatch: [
    (options) => edits.createPatch(text, "b", options),
    { path: PATH, oldPath: [5, {}], newPath: [5, {}], context: NUMBER, cost: NUMBER },
  ],
  parseStrictly: [(options) => edits.parseStrictly(text, options), { strip: NUMBER }],
  parsePatch: [(options) => edits.parsePatch(text, options), { strict: FLAG, path: PATH, strip: NUMBER }],
  parseEdits: [(options) => edits.parseEdits(text, options), { ...READ, wholeFiles: FLAG }],
  readEdits: [(options) => edits.readEdits(options), { ...READ, wholeFiles: FLAG }],
  "readEdits, its end": [(options) => edits.readEdits().end(options), { complete: FLAG }],
  parseSearchReplace: [(options) => edits.parseSearchReplace(text, options), READ],
  parseBeginPatch: [(options) => edits.parseBeginPatch(text, options), READ],
  parseEditBlocks: [(options) => edits.parseEditBlocks(text, options), READ],
  parseWholeFiles: [(options) => edits.parseWholeFiles(text, options), READ],
  parseStrReplace: [(options) => edits.parseStrReplace([], options), { path: PATH, text: PATH }],
  readCall: [(options) => edits.readCall(options), { path: PATH, text: PATH, limit: NUMBER }],
  toWorkspaceEdit: [
    (options) => editor.toWorkspaceEdit(patch, () => ({ uri: "file:///x", version: 1, text }), options),
    { ...APPLY, confirm: ["none", true, null] },
  ],
};

/** Functions without options. */
const BARE = "invertPatch selectHunks merge3 toTextEdits toVsCodeEdit explainConflict formatPatch";

test("every function is among those with options or those without", () => {
  const names = Object.entries({ ...edits, ...editor }).flatMap(([name, value]) =>
    typeof value === "function" ? name : [],
  );
  expect(
    [...new Set([...Object.keys(OPTIONS).map((name) => name.split(/[ ,]/)[0]), ...BARE.split(" ")])].sort(),
  ).toEqual(names.sort());
});

test.each(Object.keys(OPTIONS))("%s: an option outside its type is a TypeError that names it", (name) => {
  const [call, options] = OPTIONS[name]!;
  for (const [option, values] of Object.entries(options))
    for (const value of values)
      expect(() => call({ [option]: value } as never), `${option}: ${value}`).toThrow(
        new RegExp(`^\`${option}\` must be (?:a |an |one of ).*, not .*\\.$`),
      );
});

/** Patches that are none, as untrusted JSON may have them. */
const hunk = file!.hunks[0]!;
const withFile = (fields: object) => ({ files: [{ ...file, ...fields }] });
const withHunk = (fields: object) => withFile({ hunks: [{ ...hunk, ...fields }] });
const BROKEN: Record<string, unknown> = {
  "no list of files": { files: {} },
  "null for a file": { files: [null] },
  "a file without hunks": { files: [{ kind: "modify", before: "x", after: "x" }] },
  "no paths": withFile({ before: undefined, after: undefined }),
  "a number for a path": withFile({ before: 5 }),
  "null for a hunk": withFile({ hunks: [null] }),
  "no lines": withHunk({ lines: undefined }),
  "a number for a line": withHunk({ lines: [" a", 5] }),
  "a text for a place": withHunk({ oldStart: "1" }),
  "no place": withHunk({ newStart: undefined }),
  "a number for an anchor": withHunk({ anchors: [5] }),
};

test.each(Object.keys(BROKEN))("a patch with %s is a TypeError in every function that takes one", (name) => {
  for (const [call, take] of Object.entries(CALLS)) {
    const argument = call.split(" ").at(-1)!;
    if (!/^(?:patch|file|first|second|ours|theirs)$/.test(argument) || call.startsWith("merge3")) continue;
    expect(() => take(JSON.parse(JSON.stringify(BROKEN[name])) as never), call).toThrow(
      new RegExp(`^\`${argument}\` must be a patch, not object`),
    );
  }
});
