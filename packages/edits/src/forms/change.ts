import { createPatch } from "../create.js";
import { identifyHunks } from "../hunk.js";
import { joinLines, type Lines } from "../lines.js";
import type { FilePatch, Hunk, Patch } from "../patch.js";
import { takeApart } from "../sides.js";

/**
 * The hunk that makes `before` into `after`; null where they are equal. Only lines that differ are changed by it, what
 * both sides have is context, however the model wrote it. `start` is the first line's number in the file, if it is known.
 */
export function changeOf(before: Lines, after: Lines, start: number | null = null): Hunk | null {
  const hunk = createPatch(joinLines(before), joinLines(after), { context: Number.POSITIVE_INFINITY }).files[0]
    ?.hunks[0];
  if (hunk === undefined) return null;
  if (start === null) return { ...hunk, oldStart: null, newStart: null };
  return { ...hunk, oldStart: hunk.oldStart! + start - 1, newStart: hunk.newStart! + start - 1 };
}

export function asLines(lines: readonly string[], newlineAtEnd = true): Lines {
  return { lines, newlineAtEnd };
}

/**
 * Whether a block without a word for the missing final newline would say another change. It would not where both sides
 * miss it and the last line stays or is replaced: the file's own end is kept then.
 */
export function endMatters(hunk: Hunk): boolean {
  if (hunk.oldNoNewline !== hunk.newNoNewline) return true;
  if (!hunk.oldNoNewline) return false;
  const { old, new: now } = takeApart(hunk);
  const lines = changeOf(asLines(old), asLines(now))?.lines ?? [];
  const tail = lines.slice(lines.findLastIndex((line) => line[0] === " ") + 1);
  return tail.length > 0 && tail.every((line) => line[0] === "-");
}

/**
 * One patch of many blocks: changes of one file become one entry, in the order they were written. Their old places are
 * those of the file before all of them; the new places follow from that.
 */
export function gather(files: readonly FilePatch[]): Patch {
  const merged = new Map<string, FilePatch[]>();
  for (const file of files) {
    const key = mergeable(file) ? `modify ${file.before}` : `${merged.size} apart`;
    const group = merged.get(key);
    if (group === undefined) merged.set(key, [file]);
    else group.push(file);
  }
  return { files: [...merged.values()].map((group) => (group.length === 1 ? group[0]! : merge(group))) };
}

function mergeable({ kind, whole, oldMode, newMode, git }: FilePatch): boolean {
  return kind === "modify" && !whole && (oldMode ?? newMode ?? git) === undefined;
}

function merge(group: readonly FilePatch[]): FilePatch {
  const reasons = new Set(group.flatMap(({ reason }) => reason ?? []));
  const hunks = group.flatMap((file) => file.hunks).map(({ id: _, ...hunk }) => hunk);
  return {
    ...group[0]!,
    hunks: identifyHunks(renumber(hunks)),
    ...(reasons.size > 0 && { reason: [...reasons].join("\n") }),
  };
}

function renumber(hunks: readonly Omit<Hunk, "id">[]): Omit<Hunk, "id">[] {
  const placed = [...hunks].filter((hunk) => hunk.oldStart !== null).sort((a, b) => a.oldStart! - b.oldStart!);
  const shifts = new Map<Omit<Hunk, "id">, number>();
  let shift = 0;
  for (const hunk of placed) {
    shifts.set(hunk, shift);
    const count = (mark: string) => hunk.lines.filter((line) => line[0] === mark).length;
    shift += count("+") - count("-");
  }
  return hunks.map((hunk) =>
    hunk.newStart === null ? hunk : { ...hunk, newStart: hunk.newStart + (shifts.get(hunk) ?? 0) },
  );
}
