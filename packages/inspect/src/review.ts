/** A part of the edits that is accepted or rejected alone: one block or hunk as the model wrote it. */
export interface Change {
  readonly id: string;
  /** The first line in the file; absent where it has no place. */
  readonly line?: number;
  /** As a unified diff writes them, with ` `, `-` or `+` first. */
  readonly lines: readonly string[];
  /** Why it cannot be applied. */
  readonly conflict?: string;
}

export interface ReviewFile {
  readonly path: string;
  /** The old path of a rename. */
  readonly from?: string;
  readonly kind: "create" | "modify" | "delete" | "rename" | "copy";
  readonly reason?: string;
  readonly changes: readonly Change[];
}

/** The edits of a text, held against the files of a folder. */
export interface ReviewView {
  readonly id: string;
  /** The folder that they are applied to; without it they are only shown. */
  readonly root?: string;
  readonly files: readonly ReviewFile[];
  /** What could not be read. */
  readonly problems: readonly string[];
  /** The changes that were applied and can be undone. */
  readonly applied?: readonly string[];
}

/** What came of applying or undoing. */
export interface ReviewAnswer {
  readonly ok: boolean;
  readonly text: string;
}
