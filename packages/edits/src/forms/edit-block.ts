import type { FilePatch, Hunk, Patch } from "../patch.js";
import type { Reading, Repair, RepairKind } from "../reading.js";
import { takeApart } from "../sides.js";
import type { ReadOptions } from "../stream/event.js";
import { parseWith } from "../stream/parse.js";
import { type Block, type BlockReading, type Form, refuse, type Writing } from "./block.js";
import { asLines, changeOf, endMatters } from "./change.js";
import {
  type Content,
  type Field,
  formatContent,
  formatScalar,
  type Key,
  readContent,
  readScalar,
  sharedIndent,
  startBlock,
  step,
} from "./edit-fields.js";
import { type Fence, fenceFor, openFence } from "./fence.js";

/**
 * The fenced block of agentsmithy: "```edit" and the keys file, action (edit, create or delete), line_start, line_end,
 * old_content, new_content and reason. It looks like YAML but is read by the known keys alone: "reason: a: b" is legal
 * here, and no input can nest. `line_start` is the hunk's place in the file.
 */
export const editBlocks: Form = {
  name: "edit-block",
  open({ line, fence, atFenceStart, defaultPath }) {
    const own = openFence(line);
    // Within another fence only a bare one is taken for packing; in "```markdown" the block is an example.
    if (own === null || !/^edit\b/i.test(own.info) || (atFenceStart && fence?.info !== "")) return null;
    return openEditBlock(own, defaultPath);
  },
};

function openEditBlock(fence: Fence, defaultPath: string | null): Block {
  const at = startBlock(fence);
  let path: string | null = null;
  let first = true;
  return {
    ownsFence: false,
    tentative: false,
    get path() {
      return path;
    },
    take(line) {
      if (first) {
        first = false;
        return "more";
      }
      const { kind, ...rest } = step(at, line);
      if (kind === "key" && "key" in rest && rest.key === "file") path ??= readScalar(rest.value) || null;
      return kind === "end" ? "last" : "more";
    },
    read: (lines, end) => readEditBlock(lines, fence, end === "closed", defaultPath),
  };
}

function readEditBlock(
  lines: readonly string[],
  fence: Fence,
  closed: boolean,
  defaultPath: string | null,
): BlockReading {
  if (!closed)
    return refuse(lines.length - 1, "unfinished", "The edit block has no closing fence; ask for the rest of it.");
  const repairs: Repair[] = [];
  const fields = new Map<Key, Field>();
  const at = startBlock(fence);
  let field: Field | null = null;
  for (let i = lines.findIndex((line) => openFence(line)?.info === fence.info) + 1; i < lines.length; i++) {
    const line = lines[i]!;
    const taken = step(at, line);
    if (taken.kind === "key") {
      if (fields.has(taken.key))
        return refuse(
          i,
          "bad-block",
          `The key ${taken.key} stands twice in the edit block; write one block for each change.`,
        );
      field = { line: i, base: at.base, value: taken.value, lines: [], loose: new Set() };
      fields.set(taken.key, field);
    } else if (taken.kind === "content" || taken.kind === "loose" || taken.kind === "continued") {
      if (taken.kind === "loose" && field!.loose.size === 0)
        repairs.push(repair("unindented-content", i, "Content stands as far left as its key."));
      if (taken.kind === "loose") field!.loose.add(field!.lines.length);
      field?.lines.push(line);
    } else if (taken.kind === "unknown") {
      if (at.under === "unknown" && /^[ \t]*\w/.test(line))
        repairs.push(repair("unknown-key", i, `"${line.trim()}" is no key of an edit block and was left out.`));
    } else if (taken.kind === "bad") {
      return refuse(
        i,
        "bad-block",
        `"${line.trim().slice(0, 60)}" is neither a known key nor indented content; indent content by two columns.`,
      );
    }
  }
  return readFields(fields, repairs, lines.length - 1, defaultPath);
}

function readFields(
  fields: Map<Key, Field>,
  repairs: Repair[],
  last: number,
  defaultPath: string | null,
): BlockReading {
  const one = (key: Key): string => {
    const field = fields.get(key);
    if (field === undefined || field.lines.length === 0) return readScalar(field?.value ?? "");
    return [field.value, ...field.lines]
      .map((line) => line.trim())
      .join(" ")
      .trim();
  };
  const path = one("file") || defaultPath;
  if (path === null) return refuse(last, "no-path", "The edit block names no file; write `file: <path>`.");
  const reason = one("reason");
  const contents = (["old_content", "new_content"] as const).map((key) => fields.get(key));
  const folded = contents.find(
    (field) => field !== undefined && /^(?!["'|>]).+$/.test(field.value) && field.lines.length > 0,
  );
  if (folded !== undefined)
    return refuse(
      folded.line,
      "bad-block",
      "Content of several lines begins on the key's line; begin it below, behind `|`.",
    );
  const prefix = sharedIndent(contents.filter((field) => field !== undefined));
  const [old, now] = contents.map((field) => (field === undefined ? null : readContent(field, prefix)));
  for (const field of contents) {
    if (field !== undefined && field.value === "" && field.lines.some((line) => line.trim() !== ""))
      repairs.push(repair("missing-bar", field.line, "Content of several lines stands below a key without `|`."));
  }
  const action = one("action").toLowerCase() || (old && now ? "edit" : "");
  if (action === "edit" && !fields.has("action"))
    repairs.push(repair("missing-action", last, "There is no action; old and new content make it an edit."));
  const rest = reason === "" ? {} : { reason };
  const file = (part: Pick<FilePatch, "kind" | "before" | "after">, hunk: Hunk | null): BlockReading => ({
    ok: true,
    files: [{ ...part, hunks: hunk === null ? [] : [hunk], ...rest }],
    repairs,
  });
  const text = (content: Content | null | undefined) =>
    asLines(content?.lines ?? [], content?.chomp !== "-" || content.lines.length === 0);
  if (action === "create") {
    if (old && old.lines.length > 0)
      return refuse(
        fields.get("old_content")!.line,
        "bad-block",
        "A file that is created has no old content; use `action: edit`.",
      );
    return file({ kind: "create", before: null, after: path }, changeOf(asLines([]), text(now), 1));
  }
  if (action === "delete") {
    if (now && now.lines.length > 0)
      return refuse(
        fields.get("new_content")!.line,
        "bad-block",
        "A file that is deleted has no new content; use `action: edit`.",
      );
    return file({ kind: "delete", before: path, after: null }, changeOf(text(old), asLines([]), 1));
  }
  if (action !== "edit")
    return refuse(
      fields.get("action")?.line ?? last,
      "bad-block",
      `The action "${action}" is not known; write edit, create or delete.`,
    );
  if (!old || !now)
    return refuse(
      last,
      "bad-block",
      `The edit names no ${old ? "new" : "old"}_content; write both, an empty one as "".`,
    );
  const place = readPlace(one("line_start"), one("line_end"));
  for (const key of place.unread)
    repairs.push(repair("bad-line-number", fields.get(key)!.line, `"${one(key)}" is no line number and was left out.`));
  const { start, end } = place;
  if (old.lines.length === 0) {
    if (start === null)
      return refuse(
        last,
        "bad-block",
        "An edit without old content inserts; `line_start` has to say before which line.",
      );
    if (end !== null && end > start)
      return refuse(
        fields.get("line_start")!.line,
        "bad-block",
        `Lines ${start} to ${end} are to be replaced, but old_content does not quote them.`,
      );
  }
  if (end !== null && start !== null && end - start + 1 !== old.lines.length)
    repairs.push(
      repair(
        "wrong-count",
        fields.get("line_start")!.line,
        `Lines ${start} to ${end} are not as many as old_content has (${old.lines.length}).`,
      ),
    );
  // A newline at the end is a fact about the file only where one side has it and the other has not.
  const facts = old.chomp !== now.chomp && old.lines.length > 0 && now.lines.length > 0;
  const hunk = changeOf(
    asLines(old.lines, !facts || old.chomp !== "-"),
    asLines(now.lines, !facts || now.chomp !== "-"),
    start,
  );
  if (hunk === null) return refuse(last, "no-change", "Old and new content are the same, so the edit changes nothing.");
  return file({ kind: "modify", before: path, after: path }, hunk);
}

function readPlace(startText: string, endText: string): { start: number | null; end: number | null; unread: Key[] } {
  const range = /^[Ll]?(\d{1,9})(?:\s*(?:-|–|\.\.|,|:|to)\s*[Ll]?(\d{1,9}))?$/;
  const first = range.exec(startText);
  const last = range.exec(endText);
  const unread: Key[] = [];
  if (startText !== "" && first === null) unread.push("line_start");
  if (endText !== "" && last === null) unread.push("line_end");
  const end = last?.[2] ?? last?.[1] ?? first?.[2];
  return {
    start: first === null ? null : Math.max(1, Number(first[1])),
    end: end === undefined ? null : Number(end),
    unread,
  };
}

function repair(kind: RepairKind, line: number, message: string): Repair {
  return { kind, line, message };
}

/** Reads every edit block of a text into one patch; text around them is left out. Refuses the text if one is broken. */
export function parseEditBlocks(text: string, options: ReadOptions = {}): Reading {
  return parseWith([editBlocks], text, options);
}

/**
 * Writes a patch as edit blocks, one for each hunk. Law: `parseEditBlocks(text).patch` equals the patch if its hunks are
 * as `changeOf` makes them. Modes, stamps, sections and a missing final newline on both sides of a hunk are not said.
 */
export function formatEditBlocks(patch: Patch): Writing {
  const out: string[] = [];
  for (const file of patch.files) {
    const { kind } = file;
    if (kind === "rename" || kind === "copy" || file.whole)
      return {
        ok: false,
        message: `Edit blocks have no word for ${file.whole ? "replacing a whole file" : `a ${kind}`} (${file.before}).`,
      };
    const hunks = file.hunks.length > 0 ? file.hunks : [null];
    for (const hunk of hunks) {
      const block = formatEdit(file, hunk);
      if (block === null)
        return {
          ok: false,
          message: `Edit blocks cannot say where the text of ${file.after ?? file.before} ends without a newline.`,
        };
      const fence = fenceFor(block);
      out.push(`${fence}edit\n${block.join("\n")}\n${fence}\n`);
    }
  }
  return { ok: true, text: out.join("\n") };
}

function formatEdit(file: FilePatch, hunk: Hunk | null): string[] | null {
  const lines = [
    `file: ${formatScalar(file.after ?? file.before ?? "")}`,
    `action: ${file.kind === "modify" ? "edit" : file.kind}`,
  ];
  if (hunk !== null) {
    const sides = takeApart(hunk);
    const start = hunk.oldStart === null ? null : hunk.oldStart + (sides.old.length === 0 ? 1 : 0);
    if (file.kind === "modify" && start !== null)
      lines.push(`line_start: ${start}`, `line_end: ${start + sides.old.length - 1}`);
    const modify = file.kind === "modify";
    const facts = !modify || endMatters(hunk);
    const sided = sides.old.length > 0 && sides.new.length > 0 && hunk.oldNoNewline !== hunk.newNoNewline;
    if (modify && facts && !sided) return null;
    const old = formatContent("old_content", sides.old, !(facts && hunk.oldNoNewline));
    const now = formatContent("new_content", sides.new, !(facts && hunk.newNoNewline));
    if (old === null || now === null) return null;
    if (file.kind !== "create") lines.push(...old);
    if (file.kind !== "delete") lines.push(...now);
  } else if (file.kind === "modify") return null;
  if (file.reason !== undefined) lines.push(`reason: ${formatScalar(file.reason)}`);
  return lines;
}
