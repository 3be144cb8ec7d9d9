import type { FilePatch, Hunk, Patch } from "../patch.js";
import type { Reading, Repair } from "../reading.js";
import { takeApart } from "../sides.js";
import type { ReadOptions } from "../stream/event.js";
import { parseWith } from "../stream/parse.js";
import { type Block, type BlockReading, type Form, refuse, show, type Writing } from "./block.js";
import { endMatters } from "./change.js";
import { readChange } from "./edit-change.js";
import { type Field, formatContent, formatScalar, type Key, readScalar, startBlock, step } from "./edit-fields.js";
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
        return refuse(i, "bad-block", `The key ${taken.key} stands twice; write one block for each change.`);
      field = { line: i, base: at.base, value: taken.value, lines: [], loose: new Set() };
      fields.set(taken.key, field);
    } else if (taken.kind === "content" || taken.kind === "loose" || taken.kind === "continued") {
      if (taken.kind === "loose") {
        if (field!.loose.size === 0)
          repairs.push({ kind: "unindented-content", line: i, message: "Content stands as far left as its key." });
        field!.loose.add(field!.lines.length);
      }
      field!.lines.push(line);
    } else if (taken.kind === "unknown") {
      repairs.push({
        kind: "unknown-key",
        line: i,
        message: `"${show(line)}" belongs to no key of an edit block and was left out.`,
      });
    } else if (taken.kind === "bad") {
      return refuse(
        i,
        "bad-block",
        `"${show(line)}" is neither a known key nor indented content; indent content by two columns.`,
      );
    }
  }
  return readChange(fields, repairs, lines.length - 1, defaultPath);
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
  const { kind, reason } = file;
  const lines = [
    `file: ${formatScalar(file.after ?? file.before ?? "")}`,
    `action: ${kind === "modify" ? "edit" : kind}`,
  ];
  const last = reason === undefined ? [] : [`reason: ${formatScalar(reason)}`];
  if (hunk === null) return kind === "modify" ? null : [...lines, ...last];
  const { old, new: now } = takeApart(hunk);
  const facts = kind !== "modify" || endMatters(hunk);
  const sided = old.length > 0 && now.length > 0 && hunk.oldNoNewline !== hunk.newNoNewline;
  if (kind === "modify" && facts && !sided) return null;
  const start = hunk.oldStart === null || kind !== "modify" ? null : hunk.oldStart + (old.length === 0 ? 1 : 0);
  const place = start === null ? [] : [`line_start: ${start}`, `line_end: ${start + old.length - 1}`];
  const before = kind === "create" ? [] : formatContent("old_content", old, !(facts && hunk.oldNoNewline));
  const after = kind === "delete" ? [] : formatContent("new_content", now, !(facts && hunk.newNoNewline));
  return before === null || after === null ? null : [...lines, ...place, ...before, ...after, ...last];
}
