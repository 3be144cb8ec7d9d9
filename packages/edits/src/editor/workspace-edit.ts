import { applyPatch, fileConflict } from "../apply.js";
import { needOptions, needPatch } from "../need.js";
import type { FilePatch, Patch } from "../patch.js";
import type { AppliedHunk, ApplyOptions, Conflict, Rung } from "../result.js";
import type { Annotated, ChangeAnnotation, WorkspaceEdit } from "./protocol.js";
import { diffTexts } from "./text-edits.js";

/** A file as the editor knows it. */
export interface LspDocument {
  readonly uri: string;
  /** The open document's version; null if it is not open. An editor refuses edits of another version. */
  readonly version: number | null;
  /** Null if there is no such file. */
  readonly text: string | null;
}

export interface WorkspaceOptions extends ApplyOptions {
  /** Changes that the user must confirm: deletions, replacements and loose matches (the default), or everything. */
  readonly confirm?: "doubtful" | "all" | undefined;
}

export interface FileConflict extends Conflict {
  readonly path: string;
}

export type WorkspaceEditing =
  | { readonly ok: true; readonly edit: WorkspaceEdit }
  | { readonly ok: false; readonly conflicts: readonly FileConflict[] };

/** Repairs that leave no doubt about the place. */
const CERTAIN: ReadonlySet<Rung> = new Set([
  "exact",
  "place",
  "order",
  "final-newline",
  "byte-order-mark",
  "line-endings",
]);

/**
 * Converts a patch to a workspace edit with versions, file operations and annotations for changes to confirm, or returns
 * all conflicts. `find` gives the editor's state of a path. A path may occur in one file of the patch only. File modes
 * are left out.
 */
export function toWorkspaceEdit(
  patch: Patch,
  find: (path: string) => LspDocument,
  options: WorkspaceOptions = {},
): WorkspaceEditing {
  needPatch({ patch });
  needOptions(options, { confirm: ["doubtful", "all"] });
  const documentChanges: WorkspaceEdit["documentChanges"] = [];
  const changeAnnotations: Record<string, ChangeAnnotation> = {};
  const conflicts: FileConflict[] = [];
  const seen = new Set<string>();
  for (const file of patch.files) {
    const names = new Set([file.before ?? file.after!, file.after ?? file.before!]);
    for (const name of names) if (seen.has(name)) conflicts.push({ ...fileConflict("overlap"), path: name });
    for (const name of names) seen.add(name);
    const state = readState(file, find);
    const refused = refuseState(state);
    const applied = refused ?? applyPatch(file, state.source.text ?? "", options);
    if (!applied.ok) {
      for (const conflict of applied.conflicts) conflicts.push({ path: state.path, ...conflict });
      continue;
    }
    const annotation = annotate(state, applied.hunks);
    annotation.needsConfirmation ||= options.confirm === "all";
    const mark: Annotated = {};
    if (annotation.needsConfirmation || file.reason !== undefined) {
      mark.annotationId = `${Object.keys(changeAnnotations).length + 1}`;
      changeAnnotations[mark.annotationId] = annotation;
    }
    documentChanges.push(...changesOf(state, applied.text, mark));
  }
  if (conflicts.length > 0) return { ok: false, conflicts };
  const annotated = Object.keys(changeAnnotations).length > 0;
  return { ok: true, edit: { documentChanges, ...(annotated && { changeAnnotations }) } };
}

interface State {
  readonly file: FilePatch;
  /** The path before the change; the path after it for a created file. */
  readonly path: string;
  readonly source: LspDocument;
  readonly target: LspDocument;
  readonly creates: boolean;
}

function readState(file: FilePatch, find: (path: string) => LspDocument): State {
  const { kind, before, after, whole } = file;
  const path = before ?? after!;
  const source = find(path);
  const target = after === null || after === path ? source : find(after);
  const creates = kind === "create" || kind === "copy" || (whole === true && source.text === null);
  return { file, path, source, target, creates };
}

function refuseState({ file: { kind, after }, path, source, target, creates }: State) {
  const refuse = (reason: Conflict["reason"], path: string) =>
    ({ ok: false, conflicts: [{ ...fileConflict(reason), path }] }) as const;
  if (source.text === null && !creates) return refuse("not-found", path);
  return target.text !== null && (kind === "create" || target !== source) ? refuse("stale", after!) : null;
}

function changesOf({ file: { kind }, source, target, creates }: State, text: string, mark: Annotated) {
  if (kind === "delete") return [{ kind, uri: source.uri, ...mark }];
  const careful = { options: { overwrite: false, ignoreIfExists: false }, ...mark };
  const changes: WorkspaceEdit["documentChanges"] = creates ? [{ kind: "create", uri: target.uri, ...careful }] : [];
  const edits = diffTexts(creates ? "" : source.text!, text).map((edit) => ({ ...edit, ...mark }));
  const { uri, version } = creates ? { uri: target.uri, version: null } : source;
  if (edits.length > 0) changes.push({ textDocument: { uri, version }, edits });
  // The edit precedes the rename, because the version is known for the old name.
  if (kind === "rename") changes.push({ kind, oldUri: source.uri, newUri: target.uri, ...careful });
  return changes;
}

function annotate({ file, creates }: State, hunks: readonly AppliedHunk[]): ChangeAnnotation {
  const { kind, before, after, whole, reason } = file;
  const verb = kind === "delete" ? "Delete" : creates ? "Create" : whole ? "Replace" : "Edit";
  const loose = [...new Set(hunks.flatMap(({ repairs }) => repairs))].filter((rung) => !CERTAIN.has(rung));
  const found = loose.length > 0 ? `, found by ${loose.join(", ")}` : "";
  return {
    label: `${verb} ${after ?? before}${found}`,
    needsConfirmation: verb === "Delete" || verb === "Replace" || found !== "",
    ...(reason !== undefined && { description: reason }),
  };
}
