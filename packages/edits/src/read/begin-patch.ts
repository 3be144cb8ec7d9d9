import { identifyHunks } from "../hunk.js";
import type { FilePatch, Hunk } from "../patch.js";
import { quote, type Reading, type Repair } from "../reading.js";
import { parseHunkHeader } from "../unified/hunk.js";
import { create, modify, newText, refuseDots, remake, remove } from "./change.js";
import { closesFence, type Fence } from "./fence.js";
import type { BlockText, Format, ReadOptions } from "./format.js";
import { lost, refuse, repair } from "./message.js";
import { parseWith } from "./reader.js";

const BEGIN = /^\s*\*\*\* Begin Patch\s*$/;
const END = /^\*\*\* End Patch\s*$/;
const LOST = /^(?:\\?\*){3,5} ?(?:(?:Begin|End) Patch|(?:Add|Delete|Update) File:)/i;
const FILE = /^\*\*\* (Add|Delete|Update) File:[ \t]*(\S.*)$/s;
const MOVE = /^\*\*\* Move to:[ \t]*(\S.*)$/s;

/**
 * The `*** Begin Patch` format: Add, Delete and Update File, Move to, `@@` with an anchor line above the hunk, several of
 * them for one hunk, and `*** End of File` below it. Hunks have no line numbers here, unless the model wrote those of a
 * unified diff.
 */
export const beginPatch: Format = {
  name: "begin-patch",
  findLost: (line, _, written) =>
    LOST.test(line) ? lost(written, "write *** Begin Patch above all files and *** End Patch below them") : null,
  open({ line, fence }) {
    if (!BEGIN.test(line)) return null;
    let kind = "";
    let hasBody = false;
    return {
      path: null,
      take(line, isOpening) {
        if (isOpening) return "more";
        // Content is prefixed, so an unindented fence is the one around the patch.
        if ((line[0] === "*" && BEGIN.test(line)) || (fence !== null && closesFence(line, fence, 0))) return "past";
        this.path = FILE.exec((this.path === null ? line.trimStart() : line).trimEnd())?.[2] ?? this.path;
        return END.test(line) ? "last" : "more";
      },
      show(line, row) {
        const header = hasBody ? line : line.trimStart();
        kind = FILE.exec(header)?.[1] ?? kind;
        const isHeader = row <= 0 || /^(?:\*\*\* |@@)/.test(header);
        hasBody = !isHeader || (row > 0 && header.startsWith("@@"));
        if (isHeader || (kind !== "Add" && line[0] === "-")) return null;
        return line.replace(kind === "Add" ? /^\+/ : /^[+ ]/, "");
      },
      read: (written) => readSections(written, fence).flatMap((section) => readSection(section, written.repairs)),
    };
  },
};

/** The lines below one file's header. */
interface Section {
  readonly line: number;
  readonly kind: string;
  readonly path: string;
  moved: string | null;
  readonly bodies: Body[];
}

/** The lines below one `@@`, each with its mark, added if it was missing. */
interface Body extends Hunk {
  readonly line: number;
  readonly lines: string[];
  atEnd?: true;
  anchors?: string[];
}

function readSections({ lines, start, end, repairs }: BlockText, fence: Fence | null): Section[] {
  const last = lines.length - 1;
  // With a blank before it the line might be context, unless nothing follows it.
  const hasEnd = END.test(end === "closed" ? lines[last]! : lines[last]!.trimStart());
  if (!hasEnd) {
    if (fence === null || end !== "closed") refuse(last, "unfinished");
    repair(repairs, last, "marker", "no *** End Patch");
  }
  const reader = new SectionReader(lines, repairs);
  for (let i = start + 1; i < (hasEnd ? last : lines.length); i++) reader.take(i);
  return reader.sections.length > 0 ? reader.sections : refuse(last, "no-hunk");
}

class SectionReader {
  readonly sections: Section[] = [];
  readonly #lines: readonly string[];
  readonly #repairs: Repair[];
  #body: Body | undefined;
  /** Blank lines, which are context unless the end of the hunk follows them. */
  #blanks: number[] = [];

  constructor(lines: readonly string[], repairs: Repair[]) {
    this.#lines = lines;
    this.#repairs = repairs;
  }

  take(at: number): void {
    const line = this.#lines[at]!;
    if (/^\r?$/.test(line)) {
      if (this.#body !== undefined) this.#blanks.push(at);
      return;
    }
    const isMarked = /^(?:\*\*\* |@@)/.test(line);
    if (!isMarked) for (const row of this.#blanks) this.#addLine(row);
    this.#blanks = [];
    // Inside a hunk a blank before the stars makes a context line of it.
    const header = (this.#body === undefined ? line.trimStart() : line).trimEnd();
    const [, kind, path] = FILE.exec(header) ?? [];
    if (kind !== undefined) {
      this.sections.push({ line: at, kind, path: path!, moved: null, bodies: [] });
      this.#body = undefined;
    } else if (this.sections.length > 0) this.#takeLine(at, header, isMarked);
    else if (line.trim() !== "") refuse(at, "bad-block", `${quote(line)} stands before any *** Update File: <path>`);
  }

  #takeLine(at: number, header: string, isMarked: boolean): void {
    const line = this.#lines[at]!;
    const section = this.sections.at(-1)!;
    const isUpdate = section.kind === "Update";
    const moved = isUpdate && section.bodies.length === 0 ? MOVE.exec(header)?.[1] : undefined;
    if (moved !== undefined) section.moved = moved;
    else if (/^\*\*\* End of File\s*$/.test(line)) {
      if (isUpdate && this.#body !== undefined && this.#body.lines.length > 0) this.#body.atEnd = true;
      else repair(this.#repairs, at, "anchor", line.trim());
      this.#body = undefined;
    } else if (line.startsWith("*** ") || section.kind === "Delete")
      refuse(at, "bad-block", `${quote(line)} has no meaning here`);
    else if (isUpdate && isMarked) this.#openBelow(section, at, readAddress(line));
    else this.#addLine(at);
  }

  #open(line: number, address: Address): Body {
    const body: Body = { line, id: "", newStart: null, ...address, lines: [] };
    this.sections.at(-1)!.bodies.push(body);
    this.#body = body;
    return body;
  }

  /** Opens a hunk; the anchors of an `@@` line with nothing below it are above its own. */
  #openBelow({ bodies }: Section, at: number, address: Address): void {
    const outer = this.#body?.lines.length === 0 ? this.#body : undefined;
    if (outer !== undefined) bodies.pop();
    if (outer !== undefined && (outer.oldStart !== null || address.oldStart !== null))
      repair(this.#repairs, at, "anchor", quote(this.#lines[outer.line]!));
    else if (outer?.anchors) {
      // Added to the same list, because a copy for each of many anchors would take quadratic time.
      outer.anchors.push(...address.anchors!);
      address.anchors = outer.anchors;
    }
    this.#open(at, address);
  }

  #addLine(at: number): void {
    const { lines } = this.#body ?? this.#open(at, { oldStart: null, anchors: [] });
    const line = this.#lines[at]!;
    const isAdded = this.sections.at(-1)!.kind === "Add";
    const isMarked = isAdded ? line[0] === "+" : /^[ +-]/.test(line);
    const kind = isAdded ? "missing-plus" : line.trim() === "" ? "blank-context" : "missing-space";
    if (!isMarked) repair(this.#repairs, at, kind);
    lines.push(isMarked ? line : (isAdded ? "+" : " ") + line);
  }
}

interface Address {
  oldStart: number | null;
  section?: string;
  anchors?: string[];
}

/** The place in an `@@` line: the numbers of a unified diff, or a line above the hunk. */
function readAddress(line: string): Address {
  const { oldStart = null, section } = parseHunkHeader(line) ?? {};
  if (oldStart !== null) return section === undefined ? { oldStart } : { oldStart, section };
  const anchor = line.slice(2).trim().replace(/@@$/, "").trim();
  return { oldStart, anchors: /^[-+,.\dX\s]*$/i.test(anchor) ? [] : [anchor] };
}

function readSection({ line, kind, path, moved, bodies }: Section, repairs: Repair[]): FilePatch[] {
  if (kind === "Delete") return [remove(path)];
  if (kind === "Add") return [create(path, newText(bodies))];
  const hunks = bodies.flatMap((body) => {
    const { section, anchors, atEnd } = body;
    const hunk: { -readonly [Key in keyof Hunk]: Hunk[Key] } | null = remake(body);
    refuseDots(hunk?.lines ?? [], path, body.line);
    if (hunk === null) {
      repair(repairs, body.line, "no-change");
      return [];
    }
    if (section) hunk.section = section;
    if (anchors) hunk.anchors = anchors;
    // Codex, too, appends new lines that have no place.
    if (atEnd || (hunk.oldStart === null && isBare(hunk))) hunk.atEnd = true;
    return hunk;
  });
  const file = modify(path, identifyHunks(hunks));
  if (moved !== null && moved !== path) return [{ ...file, kind: "rename", after: moved }];
  if (bodies.length === 0) repair(repairs, line, "no-change", path);
  return hunks.length === 0 ? [] : [file];
}

/** Whether only a number can be the place of a hunk. */
function isBare({ anchors = [], lines }: Hunk): boolean {
  return anchors.length === 0 && lines.every((line) => line[0] === "+");
}

/** Reads every `*** Begin Patch` of a text into one patch; text around them is left out. Refuses the text if one is broken. */
export function parseBeginPatch(text: string, options: ReadOptions = {}): Reading {
  return parseWith([beginPatch], text, options);
}
