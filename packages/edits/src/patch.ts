/**
 * A change of files, as a value. Every reader of this package produces it and every writer consumes it.
 * It is plain JSON: `JSON.parse(JSON.stringify(patch))` equals the patch.
 */
export interface Patch {
  readonly files: readonly FilePatch[];
}

export type FileKind = "create" | "modify" | "delete" | "rename" | "copy";

export interface FilePatch {
  readonly kind: FileKind;
  /** Path before the change, without `a/`; null for `create`. */
  readonly before: string | null;
  /** Path after the change, without `b/`; null for `delete`. */
  readonly after: string | null;
  readonly hunks: readonly Hunk[];
  /** The hunks' new side is the whole file: it replaces the old content, whatever it was. */
  readonly whole?: true | undefined;
  /** The old and the new mode as git writes them, for instance "100644". */
  readonly oldMode?: string | undefined;
  readonly newMode?: string | undefined;
  /** Fields of git's extended header beside paths and modes; absent for a plain unified diff. */
  readonly git?: GitHeader | undefined;
  /** Text behind the path in the `---` and `+++` lines, usually a time stamp. */
  readonly oldStamp?: string | undefined;
  readonly newStamp?: string | undefined;
  /** The reason for the change, if given (an edit block's `reason`, a protocol's rationale). */
  readonly reason?: string | undefined;
}

export interface GitHeader {
  /** The `index` line's two object names, as `old..new`. */
  readonly index?: string | undefined;
  /** The mode in the `index` line: the file's when the patch was made. It changes nothing. */
  readonly mode?: string | undefined;
  /** Similarity of a rename or copy, in per cent. */
  readonly similarity?: number | undefined;
  /** Dissimilarity of a rewrite, in per cent. */
  readonly dissimilarity?: number | undefined;
}

export interface Hunk {
  /** A hash of the hunk's lines (and its ordinal among equal ones in the file), so it survives a re-read and a move. */
  readonly id: string;
  /**
   * First line of the old side, counted from 1, exactly as a unified diff writes it (0 or the line before when the
   * old side is empty). Null when the writer gave no place: SEARCH/REPLACE, str_replace, `@@ ... @@`.
   */
  readonly oldStart: number | null;
  /** First line of the new side, by the same rule. */
  readonly newStart: number | null;
  /** Text behind the second `@@`: usually the enclosing function. A place that contradicts it is rejected. */
  readonly section?: string | undefined;
  /**
   * Lines above the hunk, outermost first (`@@ class A`, `@@ def b():`). They are part of its address: it is applied in
   * the block of the last one, which is in the block of the one before. Hunks with this field, even an empty one, keep the
   * order of the file.
   */
  readonly anchors?: readonly string[] | undefined;
  /** The old side ends the file (`*** End of File`): it is applied nowhere else. */
  readonly atEnd?: true | undefined;
  /**
   * Lines as a unified diff writes them, first character ` `, `-` or `+`, without the line feed (a carriage return
   * before it stays part of the line).
   */
  readonly lines: readonly string[];
  /** The old side's last line has no line feed at its end ("\ No newline at end of file"). */
  readonly oldNoNewline?: true | undefined;
  readonly newNoNewline?: true | undefined;
}

/** The files of a patch, which may be given as its only file. */
export function filesOf(patch: FilePatch | Patch): readonly FilePatch[] {
  return "files" in patch ? patch.files : [patch];
}
