import type {
  ChangeAnnotation,
  CreateFile,
  DeleteFile,
  Position,
  RenameFile,
  TextDocumentEdit,
  TextEdit,
  WorkspaceEdit,
} from "vscode-languageserver-types";
import { type AppliedHunk, type ApplyOptions, applyPatch, type Conflict } from "./apply.js";
import { createPatch } from "./create.js";
import { diffLines } from "./diff.js";
import type { Rung } from "./ladder.js";
import type { FilePatch, Patch } from "./patch.js";
import { readSource } from "./source.js";
import { type Splice, spliceText } from "./splice.js";

export type TextEdits =
  | { readonly ok: true; readonly edits: TextEdit[]; readonly hunks: readonly AppliedHunk[] }
  | { readonly ok: false; readonly conflicts: readonly Conflict[] };

/**
 * The edits that do to an editor's document what `applyPatch` does to its text, of whole lines, in order and apart.
 * Law: applying them to the text gives `applyPatch(patch, text).text`. Positions count UTF-16 code units; a line ends at
 * `\n`, `\r\n` or `\r`, as the protocol has it.
 */
export function toTextEdits(patch: FilePatch | Patch, text: string, options: ApplyOptions = {}): TextEdits {
  const applied = applyPatch(patch, text, options);
  if (!applied.ok) return applied;
  return { ok: true, edits: diffTexts(text, applied.text), hunks: applied.hunks };
}

function diffTexts(before: string, after: string): TextEdit[] {
  const old = readSource(before);
  const now = readSource(after);
  const starts = lineStarts(before);
  let line = 0;
  const positionAt = (offset: number): Position => {
    while (line + 1 < starts.length && starts[line + 1]! <= offset) line++;
    return { line, character: offset - starts[line]! };
  };
  return diffLines(old, now).map(({ oldStart, oldEnd, newStart, newEnd }) => ({
    range: { start: positionAt(old.starts[oldStart]!), end: positionAt(old.starts[oldEnd]!) },
    newText: after.slice(now.starts[newStart], now.starts[newEnd]),
  }));
}

/** Where the lines of the protocol start; a carriage return alone ends one too. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (const { index, 0: end } of text.matchAll(/\r\n|\n|\r/g)) starts.push(index + end.length);
  return starts;
}

export type TextEditsPatch =
  | { readonly ok: true; readonly patch: Patch }
  /** Two edits change the same characters; `edit` is the second one's index. */
  | { readonly ok: false; readonly reason: "overlap"; readonly edit: number; readonly message: string };

/**
 * The patch that edits of a document amount to. Law: it gives the text that the edits give. As the protocol has it, a
 * position behind a line's end is its end, one behind the text is the text's end, and inserts at one place keep their order.
 */
export function fromTextEdits(edits: readonly TextEdit[], text: string, options: { path: string }): TextEditsPatch {
  const starts = lineStarts(text);
  const offsetAt = ({ line, character }: Position): number => {
    const start = starts[Math.max(0, line)];
    if (start === undefined) return text.length;
    if (line < 0) return 0;
    let end = starts[line + 1] ?? text.length;
    while (end > start && line + 1 < starts.length && /[\r\n]/.test(text[end - 1]!)) end--;
    return Math.min(end, start + Math.max(0, character));
  };
  const splices: (Splice & { edit: number })[] = edits
    .map(({ range: { start, end }, newText }, edit) => {
      const [first, last] = comparePositions(start, end) <= 0 ? [start, end] : [end, start];
      return { first, from: offsetAt(first), to: offsetAt(last), insert: newText, edit };
    })
    // By position and not by offset: behind the end of a line there is still an order.
    .sort((a, b) => comparePositions(a.first, b.first));
  for (let i = 1; i < splices.length; i++) {
    const { from, edit } = splices[i]!;
    if (from < splices[i - 1]!.to)
      return {
        ok: false,
        reason: "overlap",
        edit,
        message: `Edit ${edit} changes characters that edit ${splices[i - 1]!.edit} changes.`,
      };
  }
  return { ok: true, patch: createPatch(text, spliceText(text, splices), options) };
}

function comparePositions(a: Position, b: Position): number {
  return a.line - b.line || a.character - b.character;
}

/** A file as the editor has it. */
export interface LspDocument {
  readonly uri: string;
  /** The open document's version; null if it is not open. An editor refuses edits of another version. */
  readonly version: number | null;
  /** Null if there is no such file. */
  readonly text: string | null;
}

export interface WorkspaceOptions extends ApplyOptions {
  /** What the user is asked to confirm: what is deleted, replaced or found only loosely (the default), or everything. */
  readonly confirm?: "doubtful" | "all";
}

export interface FileConflict extends Conflict {
  readonly path: string;
}

export type WorkspaceEditing =
  | { readonly ok: true; readonly edit: WorkspaceEdit }
  | { readonly ok: false; readonly conflicts: readonly FileConflict[] };

type Change = TextDocumentEdit | CreateFile | RenameFile | DeleteFile;

/** Repairs after which it is still certain that the place is meant. */
const CERTAIN: ReadonlySet<Rung> = new Set([
  "exact",
  "place",
  "order",
  "final-newline",
  "byte-order-mark",
  "line-endings",
]);

/**
 * The workspace edit that carries out a patch, with versions, file operations and annotations for what needs confirmation;
 * or all conflicts. `find` gives the editor's state of a path. A path may stand in one file of the patch only (compose
 * patches first). File modes are not said.
 */
export function toWorkspaceEdit(
  patch: Patch,
  find: (path: string) => LspDocument,
  options: WorkspaceOptions = {},
): WorkspaceEditing {
  const changes: Change[] = [];
  const annotations: Record<string, ChangeAnnotation> = {};
  const conflicts: FileConflict[] = [];
  const seen = new Set<string>();
  for (const file of patch.files) {
    const path = file.before ?? file.after!;
    const refuse = (reason: Conflict["reason"], at = path) =>
      conflicts.push({ path: at, hunk: "", reason, at: null, candidates: [], rung: "exact" });
    const names = new Set([file.before, file.after].filter((name) => name !== null));
    for (const name of names) {
      if (seen.has(name)) refuse("overlap", name);
      seen.add(name);
    }
    const source = find(path);
    const target = file.after === null || file.after === path ? source : find(file.after);
    const creates = file.kind === "create" || file.kind === "copy" || (file.whole === true && source.text === null);
    if (source.text === null && !creates) refuse("not-found");
    else if (target.text !== null && (file.kind === "create" || target !== source)) refuse("stale", file.after!);
    else {
      const applied = applyPatch(file, source.text ?? "", options);
      if (!applied.ok) for (const conflict of applied.conflicts) conflicts.push({ ...conflict, path });
      else
        for (const change of changesOf(file, { source, target, creates }, applied, options.confirm === "all", annotate))
          changes.push(change);
    }

    function annotate(label: string, needsConfirmation: boolean): string | undefined {
      if (!needsConfirmation && file.reason === undefined) return undefined;
      const id = `${Object.keys(annotations).length + 1}`;
      annotations[id] = { label, needsConfirmation, ...(file.reason !== undefined && { description: file.reason }) };
      return id;
    }
  }
  if (conflicts.length > 0) return { ok: false, conflicts };
  const annotated = Object.keys(annotations).length > 0;
  return { ok: true, edit: { documentChanges: changes, ...(annotated && { changeAnnotations: annotations }) } };
}

function changesOf(
  file: FilePatch,
  { source, target, creates }: { source: LspDocument; target: LspDocument; creates: boolean },
  applied: { text: string; hunks: readonly AppliedHunk[] },
  all: boolean,
  annotate: (label: string, needsConfirmation: boolean) => string | undefined,
): Change[] {
  const path = file.after ?? file.before!;
  const mark = (annotationId: string | undefined) => (annotationId === undefined ? {} : { annotationId });
  if (file.kind === "delete") return [{ kind: "delete", uri: source.uri, ...mark(annotate(`Delete ${path}`, true)) }];
  const changes: Change[] = [];
  const loose = [...new Set(applied.hunks.flatMap((hunk) => hunk.repairs))].filter((rung) => !CERTAIN.has(rung));
  const replaces = file.whole === true && !creates;
  const label = replaces
    ? `Replace ${path}`
    : loose.length > 0
      ? `Edit ${path}, found by ${loose.join(", ")}`
      : `${creates ? "Create" : "Edit"} ${path}`;
  const annotationId = annotate(label, all || replaces || loose.length > 0);
  if (creates)
    changes.push({
      kind: "create",
      uri: target.uri,
      options: { overwrite: false, ignoreIfExists: false },
      ...mark(annotationId),
    });
  const edits = diffTexts(creates ? "" : source.text!, applied.text).map((edit) => ({
    ...edit,
    ...mark(annotationId),
  }));
  const document = creates ? { uri: target.uri, version: null } : { uri: source.uri, version: source.version };
  if (edits.length > 0) changes.push({ textDocument: document, edits });
  // The edit comes before the rename, since it is the old name whose version is known.
  if (file.kind === "rename")
    changes.push({
      kind: "rename",
      oldUri: source.uri,
      newUri: target.uri,
      options: { overwrite: false, ignoreIfExists: false },
      ...mark(annotationId),
    });
  return changes;
}
