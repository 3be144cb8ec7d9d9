import { type LspDocument, toTextEdits, toWorkspaceEdit } from "@parlance/edits/editor";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { TextDocument } from "vscode-languageserver-textdocument";
import type { TextEdit, WorkspaceEdit } from "vscode-languageserver-types";
import { createPatch } from "../../src/diff/create.js";
import type { FilePatch } from "../../src/patch.js";
import { parseEdits } from "../../src/read/edits.js";
import { random } from "../random.js";
import { seeded } from "../seed.js";
import { editText, readSources } from "../sources.js";

const numRuns = process.env.PARLANCE_LONG ? 20_000 : 2_000;
const seed = seeded(20_261_121);
const path = "src/x.ts";
const uri = "file:///project/src/x.ts";

/** What an editor makes of edits: the reference document of the protocol. */
const edited = (text: string, edits: Parameters<typeof TextDocument.applyEdits>[1]) =>
  TextDocument.applyEdits(TextDocument.create(uri, "text", 1, text), edits);

const piece = fc.constantFrom("a", "b", "é", "🎉", "\n", "\n", "\r\n", "\r", "  ", "\t", "\u2028", "\ufeff");
const text = fc.array(piece, { maxLength: 24 }).map((pieces) => pieces.join(""));

describe("against the protocol's own document", () => {
  it("the edits of a patch give what the patch gives", () => {
    const property = fc.property(text, text, (before, after) => {
      const result = toTextEdits(createPatch(before, after, { path }), before);
      if (!result.ok) expect.fail(JSON.stringify(result));
      expect(edited(before, result.edits)).toBe(after);
    });
    fc.assert(property, { numRuns, seed });
  });

  it("the edits of real changes give the changed text and touch only what changed", () => {
    const draw = random(seed);
    for (const before of readSources(60)) {
      const after = editText(draw, before, 1 + draw.below(6));
      const result = toTextEdits(createPatch(before, after, { path }), before);
      if (!result.ok) expect.fail(JSON.stringify(result));
      expect(edited(before, result.edits)).toBe(after);
      expect(result.edits.reduce((sum, edit) => sum + edit.newText.length, 0)).toBeLessThan(after.length / 2 + 2000);
    }
  });
});

test("a conflict is returned, not thrown", () => {
  expect(toTextEdits(createPatch("a\n", "b\n", { path }), "c\n")).toMatchObject({
    ok: false,
    conflicts: [{ reason: "not-found" }],
  });
});

const document = (name: string, content: string | null, version: number | null = 7): LspDocument => ({
  uri: `file:///w/${name}`,
  version: content === null ? null : version,
  text: content,
});
const find = (files: Record<string, string>) => (name: string) => document(name, files[name] ?? null);

test("a change becomes an edit of the version that was read", () => {
  const patch = createPatch("a\nb\nc\n", "a\nB\nc\n", { path });
  expect(toWorkspaceEdit(patch, find({ [path]: "a\nb\nc\n" }))).toEqual({
    ok: true,
    edit: {
      documentChanges: [
        {
          textDocument: { uri: "file:///w/src/x.ts", version: 7 },
          edits: [{ range: { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } }, newText: "B\n" }],
        },
      ],
    },
  });
});

test("edits are those of the language server packages", () => {
  const text = "a\nb\n";
  const patch = createPatch(text, "a\nB\n", { path });
  const written = toTextEdits(patch, text);
  const workspace = toWorkspaceEdit(patch, find({ [path]: text }));
  if (!written.ok || !workspace.ok) throw new Error("a conflict");
  const edits: TextEdit[] = written.edits;
  const edit: WorkspaceEdit = workspace.edit;
  expect(edit.documentChanges).toMatchObject([{ edits }]);
});

test("created, deleted and renamed files become file operations; a deletion asks for confirmation", () => {
  const answer = `*** Begin Patch
*** Add File: new.txt
+hi
*** Delete File: old.txt
*** Update File: from.txt
*** Move to: to.txt
@@
-one
+two
*** End Patch
`;
  const reading = parseEdits(answer);
  if (!reading.ok) expect.fail("the answer is not read");
  expect(toWorkspaceEdit(reading.patch, find({ "old.txt": "x\n", "from.txt": "one\n" }))).toEqual({
    ok: true,
    edit: {
      documentChanges: [
        { kind: "create", uri: "file:///w/new.txt", options: { overwrite: false, ignoreIfExists: false } },
        {
          textDocument: { uri: "file:///w/new.txt", version: null },
          edits: [{ range: { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } }, newText: "hi\n" }],
        },
        { kind: "delete", uri: "file:///w/old.txt", annotationId: "1" },
        {
          textDocument: { uri: "file:///w/from.txt", version: 7 },
          edits: [{ range: { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } }, newText: "two\n" }],
        },
        {
          kind: "rename",
          oldUri: "file:///w/from.txt",
          newUri: "file:///w/to.txt",
          options: { overwrite: false, ignoreIfExists: false },
        },
      ],
      changeAnnotations: { "1": { label: "Delete old.txt", needsConfirmation: true } },
    },
  });
});

const modify = (lines: string[], rest: Partial<FilePatch> = {}): FilePatch => ({
  kind: "modify",
  before: path,
  after: path,
  hunks: [{ id: "h", oldStart: null, newStart: null, lines }],
  ...rest,
});

test.each<[string, FilePatch, string, unknown]>([
  [
    "found only by its indentation",
    modify(["-if (x)", "-  y", "+if (z)", "+  y"]),
    "\tif (x)\n\t  y\n",
    { label: "Edit src/x.ts, found by indentation", needsConfirmation: true },
  ],
  [
    "replaced as a whole",
    modify(["+new"], { whole: true }),
    "old\n",
    { label: "Replace src/x.ts", needsConfirmation: true },
  ],
  [
    "with a reason, but certain",
    modify(["-a", "+b"], { reason: "because" }),
    "a\n",
    { label: "Edit src/x.ts", needsConfirmation: false, description: "because" },
  ],
])("what is %s is annotated", (_, file, content, annotation) => {
  const result = toWorkspaceEdit({ files: [file] }, find({ [path]: content }));
  if (!result.ok) expect.fail(JSON.stringify(result));
  expect(result.edit.changeAnnotations).toEqual({ "1": annotation });
  expect(JSON.stringify(result.edit.documentChanges)).toContain('"annotationId":"1"');
});

test("everything asks for confirmation where that is wanted", () => {
  const result = toWorkspaceEdit({ files: [modify(["-a", "+b"])] }, find({ [path]: "a\n" }), { confirm: "all" });
  expect(result).toMatchObject({ ok: true, edit: { changeAnnotations: { "1": { needsConfirmation: true } } } });
});

test.each<[string, FilePatch[], Record<string, string>, unknown[]]>([
  ["a file that is not there", [modify(["-a", "+b"])], {}, [{ path, reason: "not-found" }]],
  [
    "a file that is there already",
    [{ kind: "create", before: null, after: path, hunks: [] }],
    { [path]: "a\n" },
    [{ path, reason: "stale" }],
  ],
  [
    "a target that is there already",
    [{ kind: "rename", before: path, after: "b", hunks: [] }],
    { [path]: "a\n", b: "" },
    [{ path: "b", reason: "stale" }],
  ],
  [
    "a path that comes twice",
    [modify(["-a", "+b"]), modify(["-a", "+b"])],
    { [path]: "a\n" },
    [{ path, reason: "overlap" }],
  ],
  [
    "every conflict of every file",
    [modify(["-x", "+y"]), { ...modify(["-x", "+y"]), before: "b", after: "b" }],
    { [path]: "a\n" },
    [
      { path, reason: "not-found" },
      { path: "b", reason: "not-found" },
    ],
  ],
])("%s is a conflict, and nothing is edited", (_, files, present, conflicts) => {
  expect(toWorkspaceEdit({ files }, find(present))).toMatchObject({ ok: false, conflicts });
});

test("a patch of some lines edits those, and not equal ones before them", () => {
  const body = "  x = 1\n  return x\n}\n";
  const text = ["a", "b", "c"].map((name) => `function ${name}() {\n${body}`).join("");
  const patch = { files: [modify(["-  x = 1", "+  x = 2"])] };
  const at = { line_start: 5, line_end: 8 };
  const edits = [{ range: { start: { line: 5, character: 0 }, end: { line: 6, character: 0 } }, newText: "  x = 2\n" }];
  expect(toTextEdits(patch, text)).toMatchObject({ ok: false, conflicts: [{ reason: "ambiguous" }] });
  expect(toTextEdits(patch, text, { at })).toMatchObject({ ok: true, edits });
  expect(toWorkspaceEdit(patch, find({ [path]: text }), { at })).toMatchObject({
    ok: true,
    edit: { documentChanges: [{ edits }] },
  });
});
