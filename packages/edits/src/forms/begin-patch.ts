import { identifyHunks } from "../hunk.js";
import type { FilePatch, Hunk, Patch } from "../patch.js";
import type { Reading, Repair, RepairKind } from "../reading.js";
import type { ReadOptions } from "../stream/event.js";
import { parseWith } from "../stream/parse.js";
import { parseHunkHeader } from "../unified/header.js";
import { type Block, type BlockEnd, type BlockReading, type Form, refuse, show, type Writing } from "./block.js";
import { asLines, changeOf, endMatters } from "./change.js";
import { closesFence, type Fence } from "./fence.js";

const BEGIN = /^\s*\*\*\* Begin Patch\s*$/;
const END = /^\*\*\* End Patch\s*$/;
const FILE = /^\*\*\* (Add|Delete|Update) File:[ \t]*(\S.*?)\s*$/;
const MOVE = /^\*\*\* Move to:[ \t]*(\S.*?)\s*$/;

/**
 * The `*** Begin Patch` form: Add, Delete and Update File, Move to, `@@` with an anchor line above the hunk. An anchor
 * becomes the hunk's section. Hunks have no place here, unless the model wrote the line numbers of a unified diff.
 */
export const beginPatch: Form = {
  name: "begin-patch",
  open: ({ line, fence }) => (BEGIN.test(line) ? openBeginPatch(fence) : null),
};

function openBeginPatch(fence: Fence | null): Block {
  let path: string | null = null;
  let first = true;
  return {
    get path() {
      return path;
    },
    ownsFence: false,
    tentative: false,
    take(line) {
      if (first) {
        first = false;
        return "more";
      }
      // Content is prefixed, so a fence without any indentation of its own is the one around the patch.
      if (/^\*\*\* Begin Patch\s*$/.test(line) || (fence !== null && closesFence(line, fence, 0))) return "past";
      path = FILE.exec(path === null ? line.trimStart() : line)?.[2] ?? path;
      return END.test(line) ? "last" : "more";
    },
    read: (lines, end) => readBeginPatch(lines, fence, end),
  };
}

interface Section {
  readonly line: number;
  readonly kind: "Add" | "Delete" | "Update";
  readonly path: string;
  moved: string | null;
  readonly bodies: Body[];
}

interface Body {
  readonly line: number;
  readonly place: number | null;
  readonly anchor: string;
  readonly old: string[];
  readonly new: string[];
}

function readBeginPatch(lines: readonly string[], fence: Fence | null, end: BlockEnd): BlockReading {
  const repairs: Repair[] = [];
  const repair = (kind: RepairKind, line: number, message: string) => repairs.push({ kind, line, message });
  const sections: Section[] = [];
  const last = lines.length - 1;
  // With a blank before it the line might be context, unless nothing follows it.
  const ended = END.test(end === "closed" ? lines[last]! : lines[last]!.trimStart());
  if (!ended) {
    if (fence === null || end !== "closed")
      return refuse(last, "unfinished", "The patch has no line `*** End Patch`; ask for the rest of it.");
    repair("marker", last, "The fence is closed without `*** End Patch`.");
  }
  let body: Body | null = null;
  const begin = lines.findIndex((line) => BEGIN.test(line));
  for (let i = begin + 1; i < (ended ? last : lines.length); i++) {
    const line = lines[i]!;
    const section = sections[sections.length - 1];
    // Inside a hunk a blank before the stars makes a context line of it.
    const header = body === null ? line.trimStart() : line;
    const [, kind, path] = FILE.exec(header) ?? [];
    const moved = MOVE.exec(header)?.[1];
    if (kind !== undefined) {
      sections.push({ line: i, kind: kind as Section["kind"], path: path!, moved: null, bodies: [] });
      body = null;
    } else if (section === undefined) {
      if (line.trim() !== "")
        return refuse(i, "bad-block", `"${show(line)}" stands before the first \`*** Update File: <path>\`.`);
    } else if (moved !== undefined && section.kind === "Update" && section.bodies.length === 0) section.moved = moved;
    else if (/^\*\*\* End of File\s*$/.test(line))
      repair("anchor", i, "That the hunk stands at the end of the file is not kept.");
    else if (line.startsWith("*** ")) return refuse(i, "bad-block", `"${show(line)}" is no line of this form.`);
    else if (section.kind === "Update" && line.startsWith("@@")) {
      const place = parseHunkHeader(line);
      const anchor = place?.oldStart
        ? (place.section ?? "")
        : line
            .slice(2)
            .replace(/\s*@@\s*$/, "")
            .trim();
      if (body !== null && body.old.length + body.new.length === 0) {
        repair("anchor", i, `Of several anchors only the last is kept: "${anchor}".`);
        section.bodies.pop();
      }
      body = { line: i, place: place?.oldStart ?? null, anchor, old: [], new: [] };
      section.bodies.push(body);
    } else if (/^\r?$/.test(line) && (body === null || restIsBlank(lines, i))) continue;
    else if (section.kind === "Delete") return refuse(i, "bad-block", "A file that is deleted has no lines here.");
    else {
      if (body === null) {
        body = { line: i, place: null, anchor: "", old: [], new: [] };
        section.bodies.push(body);
      }
      takeBodyLine(body, line, i, section.kind === "Add", repair);
    }
  }
  return readSections(sections, repairs, last);
}

/** Blank lines before the next header, or the end, are no context. */
function restIsBlank(lines: readonly string[], from: number): boolean {
  let i = from;
  while (i < lines.length && lines[i]!.trim() === "") i++;
  return i === lines.length || /^(?:\*\*\* |@@)/.test(lines[i]!);
}

function takeBodyLine(
  body: Body,
  line: string,
  at: number,
  added: boolean,
  repair: (kind: RepairKind, line: number, message: string) => void,
): void {
  const mark = line[0];
  if (mark === "+") body.new.push(line.slice(1));
  else if (added) {
    repair("missing-plus", at, "A line of the added file has no `+`.");
    body.new.push(line);
  } else if (mark === "-") body.old.push(line.slice(1));
  else {
    if (mark !== " ")
      repair(line.trim() === "" ? "blank-context" : "missing-space", at, "A context line has no leading space.");
    const text = mark === " " ? line.slice(1) : line;
    body.old.push(text);
    body.new.push(text);
  }
}

function readSections(sections: readonly Section[], repairs: readonly Repair[], last: number): BlockReading {
  if (sections.length === 0) return refuse(last, "no-hunk", "The patch names no file.");
  const files: FilePatch[] = [];
  for (const { line, kind, path, moved, bodies } of sections) {
    if (kind === "Delete") files.push({ kind: "delete", before: path, after: null, hunks: [] });
    else if (kind === "Add") {
      const hunk = changeOf(asLines([]), asLines(bodies.flatMap((body) => body.new)), 1);
      files.push({ kind: "create", before: null, after: path, hunks: hunk === null ? [] : [hunk] });
    } else {
      const hunks: Omit<Hunk, "id">[] = [];
      for (const body of bodies) {
        const hunk = changeOf(asLines(body.old), asLines(body.new), body.place);
        if (hunk === null) return refuse(body.line, "no-change", "The hunk changes nothing.");
        const { id: _, ...rest } = hunk;
        hunks.push(body.anchor === "" ? rest : { ...rest, section: body.anchor });
      }
      if (hunks.length === 0 && moved === null) return refuse(line, "no-change", `The update of ${path} has no hunk.`);
      const renamed = moved !== null && moved !== path;
      files.push({
        kind: renamed ? "rename" : "modify",
        before: path,
        after: moved ?? path,
        hunks: identifyHunks(hunks),
      });
    }
  }
  return { ok: true, files, repairs };
}

/** Reads every `*** Begin Patch` of a text into one patch; text around them is left out. Refuses the text if one is broken. */
export function parseBeginPatch(text: string, options: ReadOptions = {}): Reading {
  return parseWith([beginPatch], text, options);
}

/**
 * Writes a patch in the `*** Begin Patch` form. Law: `parseBeginPatch(text).patch` equals the patch if its hunks are as
 * `changeOf` makes them and have no place. Modes, stamps and the text of deleted files are not said.
 */
export function formatBeginPatch(patch: Patch): Writing {
  const out = ["*** Begin Patch"];
  for (const { kind, before, after, whole, hunks } of patch.files) {
    const path = before ?? after!;
    if (whole || kind === "copy" || (kind !== "delete" && hunks.some(endMatters)))
      return {
        ok: false,
        message: `This form has no word for ${whole ? "replacing a whole file" : kind === "copy" ? "a copy" : "a last line without a newline"} (${path}).`,
      };
    out.push(`*** ${kind === "create" ? "Add" : kind === "delete" ? "Delete" : "Update"} File: ${path}`);
    if (kind === "rename") out.push(`*** Move to: ${after}`);
    if (kind === "delete") continue;
    for (const hunk of hunks) {
      if (kind !== "create") out.push(hunk.section === undefined ? "@@" : `@@ ${hunk.section}`);
      for (const line of hunk.lines) out.push(line);
    }
  }
  return { ok: true, text: `${out.join("\n")}\n*** End Patch\n` };
}
