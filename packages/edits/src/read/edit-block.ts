import type { FilePatch, Hunk, Patch } from "../patch.js";
import { quote, type Reading } from "../reading.js";
import { takeApart } from "../sides.js";
import { endMatters } from "./change.js";
import { type Fields, readFields } from "./edit-action.js";
import { formatContent, formatScalar, readScalar, startBlock, step } from "./edit-fields.js";
import { type Fence, formatFence, openFence } from "./fence.js";
import type { Format, Written } from "./format.js";
import { lost, refuse, repair } from "./message.js";
import { parseWith } from "./parse-with.js";
import type { ReadOptions } from "./reader.js";
import { type Writing, wordless, writeBlocks } from "./write.js";

/**
 * The fenced block of agentsmithy: "```edit" and the keys file, action (edit, create or delete), line_start, line_end,
 * old_content, new_content and reason. It looks like YAML but is read by the known keys alone: "reason: a: b" is legal
 * here, and no input can nest. `line_start` is the hunk's place in the file.
 */
export const editBlocks: Format = {
  name: "edit-block",
  findLost: (line, _, written) =>
    /^(?:old|new)_content:\s*[|>"']/.test(line)
      ? lost(written, "write the keys in a fence of their own that begins with edit")
      : null,
  open({ line, fence, atFenceStart, defaultPath }) {
    const own = openFence(line);
    // In another fence only a bare block counts; in "```markdown" it is an example.
    if (own === null || !/^edit\b/i.test(own.info) || (atFenceStart && fence?.info !== "")) return null;
    const at = startBlock(own);
    return {
      path: null,
      take(text, opening) {
        const kind = opening ? "blank" : step(at, text);
        if (kind === "key" && at.key === "file") this.path ??= readScalar(at.value) || null;
        return kind === "end" ? "last" : "more";
      },
      read(written) {
        const last = written.lines.length - 1;
        if (written.end !== "closed") refuse(last, "unfinished");
        return readFields(splitFields(written, own), written.repairs, last, defaultPath);
      },
    };
  },
};

function splitFields({ lines, start, repairs }: Written, fence: Fence): Fields {
  const fields: Fields = {};
  const at = startBlock(fence);
  for (let i = start + 1; i < lines.length; i++) {
    const line = lines[i]!;
    const kind = step(at, line);
    const { key, value, base } = at;
    if (kind === "bad") refuse(i, "bad-block", `${quote(line)} is no key; indent content by two columns`);
    else if (kind === "unknown") repair(repairs, i, "unknown-key", quote(line));
    else if (kind === "key") {
      if (fields[key]) refuse(i, "bad-block", `${key} stands twice; write one block for each change`);
      fields[key] = { line: i, base, value, lines: [], loose: new Set() };
    } else if (kind === "more" || kind === "loose") {
      const field = fields[key]!;
      if (kind === "loose") {
        if (field.loose.size === 0) repair(repairs, i, "unindented-content");
        field.loose.add(field.lines.length);
      }
      field.lines.push(line);
    }
  }
  return fields;
}

/** Reads every edit block of a text into one patch; text around them is left out. Refuses the text if one is broken. */
export function parseEditBlocks(text: string, options: ReadOptions = {}): Reading {
  return parseWith([editBlocks], text, options);
}

/**
 * Writes a patch as edit blocks, one for each hunk. Law: `parseEditBlocks(text).patch` equals the patch if its hunks are
 * as `changeOf` makes them. Modes, stamps, sections and a missing final newline on both sides of a hunk are not written.
 */
export function formatEditBlocks(patch: Patch): Writing {
  return writeBlocks(patch, (file, path) => {
    const refused = wordless(file, ["modify", "create", "delete"], []);
    if (refused !== null) return refused;
    const blocks: string[] = [];
    for (const hunk of file.hunks.length > 0 ? file.hunks : [null]) {
      const block = formatBlock(file, path, hunk);
      if (block === null) return "where the text ends without a newline";
      blocks.push(formatFence(block, "edit"));
    }
    return blocks;
  });
}

function formatBlock({ kind, reason }: FilePatch, path: string, hunk: Hunk | null): string[] | null {
  const edits = kind === "modify";
  const head = [`file: ${formatScalar(path)}`, `action: ${edits ? "edit" : kind}`];
  const tail = reason === undefined ? [] : [`reason: ${formatScalar(reason)}`];
  if (hunk === null) return edits ? null : [...head, ...tail];
  const { old, new: now, hint } = takeApart(hunk);
  // A block shows how a text ends only where the end changes, so both contents must have it there.
  const told = !edits || endMatters(hunk);
  if (edits && told && (old.length * now.length === 0 || hunk.oldNoNewline === hunk.newNoNewline)) return null;
  if (edits && hint !== null) head.push(`line_start: ${hint + 1}`, `line_end: ${hint + old.length}`);
  const before = kind === "create" ? [] : formatContent("old_content", old, !(told && hunk.oldNoNewline));
  const after = kind === "delete" ? [] : formatContent("new_content", now, !(told && hunk.newNoNewline));
  return before && after && [...head, ...before, ...after, ...tail];
}
