import { createPatch, type FilePatch, type Patch } from "@parlance/edits";
import { toVsCodeEdit, type WorkspaceOptions } from "@parlance/edits/editor";
import { describe, expect, expectTypeOf, test } from "vitest";
import type * as vscode from "vscode";
import type { VsCode, VsCodeDocument } from "../../src/editor/vscode.js";
import { random } from "../random.js";
import { seeded } from "../seed.js";
import { editText } from "../sources.js";
import { Editor, Range, Uri, WorkspaceEdit } from "./editor-double.js";

const seed = seeded(20_261_122);
const cases = process.env.PARLANCE_LONG ? 20_000 : 2_000;
const api = { Range, WorkspaceEdit };

/** How an extension calls it: never run, so that only its types are tried against the real namespace. */
async function inAnExtension(editor: typeof vscode, patch: Patch, folder: vscode.Uri) {
  const editing = await toVsCodeEdit(editor, patch, async (path) => {
    const uri = editor.Uri.joinPath(folder, path);
    try {
      return { uri, document: await editor.workspace.openTextDocument(uri) };
    } catch {
      return { uri, document: null };
    }
  });
  if (!editing.ok) return editing.conflicts[0]!.path;
  if (editing.isCurrent()) await editor.workspace.applyEdit(editing.edit, { isRefactoring: true });
  return editing.edit;
}

test("the real namespace fits, and gives its own kind of edit", () => {
  expectTypeOf(inAnExtension).returns.resolves.toEqualTypeOf<string | vscode.WorkspaceEdit>();
  expectTypeOf<typeof vscode>().toExtend<VsCode<vscode.Range, vscode.WorkspaceEdit>>();
  expectTypeOf<vscode.TextDocument>().toExtend<VsCodeDocument>();
});

async function edited(editor: Editor, patch: Patch, options?: WorkspaceOptions) {
  const editing = await toVsCodeEdit(api, patch, editor.find, options);
  if (!editing.ok) expect.fail(JSON.stringify(editing.conflicts));
  return editing;
}

const line = ["a", "b", "  c", "\td", "é🎉", ""];
const ends = ["\n", "\r\n"];

test("an editor that carries the edit out has what the patch makes", async () => {
  const draw = random(seed);
  const kinds = new Set<string>();
  for (let i = 0; i < cases; i++) {
    const before: Record<string, string> = {};
    const after = new Map<string, string>();
    const files: FilePatch[] = [];
    for (let n = 1 + draw.below(4); n > 0; n--) {
      const path = `dir${draw.below(2)}/${n}.txt`;
      const end = draw.pick(ends);
      const old = Array.from({ length: 1 + draw.below(12) }, () => draw.pick(line) + end).join("");
      const now = editText(draw, old, draw.below(3));
      const kind = draw.pick(["create", "delete", "rename", "modify", "untouched"] as const);
      kinds.add(kind);
      if (kind !== "create") before[path] = old;
      if (kind === "untouched") after.set(path, old);
      else {
        const newPath = kind === "rename" ? `${path}.new` : kind === "delete" ? null : path;
        if (newPath !== null) after.set(newPath, now);
        files.push(...createPatch(old, now, { oldPath: kind === "create" ? null : path, newPath }).files);
        if (kind === "create") files.splice(-1, 1, ...createPatch("", now, { oldPath: null, newPath: path }).files);
      }
    }
    const editor = new Editor(before);
    const { edit, isCurrent } = await edited(editor, { files });
    expect([i, [...editor.files].sort()]).toEqual([i, Object.entries(before).sort()]);
    expect(isCurrent()).toBe(true);
    editor.apply(edit);
    expect([i, [...editor.files].sort()]).toEqual([i, [...after].sort()]);
    expect(new Set(editor.lookedUp).size).toBe(editor.lookedUp.length);
  }
  expect(kinds.size).toBe(5);
});

describe("an edit", () => {
  const change = createPatch("a\nb\n", "a\nB\n", { path: "x.ts" });

  test("names documents by the editor's own URIs and ranges", async () => {
    const { edit } = await edited(new Editor({ "x.ts": "a\nb\n" }), change);
    expect(edit.operations).toEqual([
      { kind: "replace", uri: new Uri("x.ts"), range: new Range(1, 0, 2, 0), newText: "B\n", metadata: undefined },
    ]);
  });

  test("asks for confirmation of what is deleted, replaced or found loosely, with a reason where there is one", async () => {
    const patch: Patch = {
      files: [
        { kind: "delete", before: "gone", after: null, hunks: [], reason: "not used" },
        { ...createPatch("", "new\n", { path: "whole" }).files[0]!, whole: true },
        createPatch("  a\n", "  b\n", { path: "loose" }).files[0]!,
        createPatch("a\n", "b\n", { path: "certain" }).files[0]!,
      ],
    };
    const files = { gone: "x\n", whole: "old\n", loose: "\ta\n", certain: "a\n" };
    const metadataOf = async (options?: WorkspaceOptions) =>
      (await edited(new Editor(files), patch, options)).edit.operations.map(({ metadata }) => metadata);
    expect(await metadataOf()).toEqual([
      { label: "Delete gone", needsConfirmation: true, description: "not used" },
      { label: "Replace whole", needsConfirmation: true },
      { label: expect.stringContaining("Edit loose, found by "), needsConfirmation: true },
      undefined,
    ]);
    const all = await metadataOf({ confirm: "all" });
    expect(all.map((metadata) => metadata?.needsConfirmation)).toEqual([true, true, true, true]);
  });

  test("is not current once somebody typed in a document or it was closed", async () => {
    const editor = new Editor({ "x.ts": "a\nb\n" });
    const first = await edited(editor, change);
    editor.type("x.ts", "a\nb\nc\n");
    expect(first.isCurrent()).toBe(false);
    const second = await edited(editor, change);
    expect(second.isCurrent()).toBe(true);
    editor.close("x.ts");
    expect(second.isCurrent()).toBe(false);
  });
});

test("every conflict comes with its path, and nothing is edited", async () => {
  const patch: Patch = {
    files: [...createPatch("a\n", "b\n", { path: "one" }).files, ...createPatch("a\n", "b\n", { path: "two" }).files],
  };
  const editing = await toVsCodeEdit(api, patch, new Editor({ one: "other\n" }).find);
  expect(editing).toMatchObject({
    ok: false,
    conflicts: [
      { path: "one", reason: "not-found" },
      { path: "two", reason: "not-found" },
    ],
  });
});

test("a lookup that fails rejects the call", async () => {
  const find = () => Promise.reject(new Error("no such scheme"));
  await expect(toVsCodeEdit(api, createPatch("a\n", "b\n", { path: "x" }), find)).rejects.toThrow("no such scheme");
});
