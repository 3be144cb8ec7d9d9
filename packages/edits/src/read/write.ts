import { needPatch } from "../need.js";
import type { FileKind, FilePatch, Patch } from "../patch.js";
import { endMatters } from "./change.js";

/** The result of writing: a text, or the reason why this format cannot express the patch. */
export type Writing = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly message: string };

/** Writes each file as the pieces that `write` makes of it, or names what `write` cannot express. */
export function writeFiles<Piece>(
  patch: Patch,
  write: (file: FilePatch, path: string) => readonly Piece[] | string,
): { readonly ok: true; readonly pieces: readonly Piece[] } | { readonly ok: false; readonly message: string } {
  needPatch({ patch });
  const pieces: Piece[] = [];
  for (const file of patch.files) {
    const path = file.after ?? file.before!;
    const written = write(file, path);
    if (typeof written === "string") return { ok: false, message: `This format has no word for ${written} (${path}).` };
    for (const piece of written) pieces.push(piece);
  }
  return { ok: true, pieces };
}

/** The same for pieces that are blocks of text. */
export function writeBlocks(
  patch: Patch,
  write: (file: FilePatch, path: string) => readonly string[] | string,
): Writing {
  const writing = writeFiles(patch, write);
  return writing.ok ? { ok: true, text: writing.pieces.join("\n") } : writing;
}

/** What a format cannot say of a file that has words for changes of these kinds alone, and none for the end of these hunks. */
export function wordless(file: FilePatch, kinds: readonly FileKind[], hunks = file.hunks): string | null {
  if (file.whole) return "replacing a whole file";
  if (!kinds.includes(file.kind)) return `a ${file.kind}`;
  return hunks.some(endMatters) ? "a last line without a newline" : null;
}
