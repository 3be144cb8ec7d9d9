import type { FilePatch, Hunk } from "../patch.js";
import { quote, type Reading, type Repair } from "../reading.js";
import { asText, changeOf, create, modifyBy, remove, takeOffGutter } from "./change.js";
import {
  type Field,
  type FieldContent,
  type FieldName,
  type LineRole,
  readContent,
  readLine,
  readScalar,
  sharedIndent,
  showField,
  startBlock,
  step,
} from "./edit-fields.js";
import { type Fence, openFence } from "./fence.js";
import type { BlockText, Format, ReadOptions } from "./format.js";
import { lost, refuse, repair } from "./message.js";
import { parseWith } from "./reader.js";

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
  open({ line, fence, isFenceStart, defaultPath }) {
    const own = openFence(line);
    // In another fence only a bare block counts; in "```markdown" it is an example.
    if (own === null || !/^edit\b/i.test(own.info) || (isFenceStart && fence?.info !== "")) return null;
    const at = startBlock(own);
    let kind: LineRole = "blank";
    return {
      path: null,
      take(text, isOpening) {
        kind = isOpening ? "blank" : step(at, text);
        if (kind === "key" && at.key === "file") this.path ??= readScalar(at.value) || null;
        return kind === "end" ? "last" : "more";
      },
      show: (text) => (at.key === "new_content" ? showField(at, kind, text) : null),
      read(written) {
        const last = written.lines.length - 1;
        if (written.end !== "closed") refuse(last, "unfinished");
        return readFields(splitFields(written, own), written.repairs, last, defaultPath);
      },
    };
  },
};

type Fields = { [key in FieldName]?: Field };

function splitFields({ lines, start, repairs }: BlockText, fence: Fence): Fields {
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
      if (kind === "loose" && field.loose.size === 0) repair(repairs, i, "unindented-content");
      if (kind === "loose") field.loose.add(field.lines.length);
      field.lines.push(line);
    }
  }
  return fields;
}

/** Reads every edit block of a text into one patch; text around them is left out. Refuses the text if one is broken. */
export function parseEditBlocks(text: string, options: ReadOptions = {}): Reading {
  return parseWith([editBlocks], text, options);
}

/** `last` is the block's last line, for errors about missing fields. */
function readFields(fields: Fields, repairs: Repair[], last: number, defaultPath: string | null): FilePatch[] {
  const path = readLine(fields.file) || defaultPath || refuse(last, "no-path");
  const [old, now] = readContents(fields, repairs);
  const reason = readLine(fields.reason);
  const said = reason === "" ? {} : { reason };
  const action = readLine(fields.action).toLowerCase();
  if (action === "create" || action === "delete") {
    const [make, kept, other] = action === "create" ? [create, now, old] : [remove, old, now];
    if (other?.lines.length) refuse(last, "bad-block", `with old and new content the action is edit, not ${action}`);
    return [{ ...make(path, asText(kept?.lines ?? [], kept?.chomp !== "-")), ...said }];
  }
  if (action === "" && old && now) repair(repairs, last, "missing-action");
  else if (action !== "edit")
    refuse(fields.action?.line ?? last, "bad-block", `the action ${quote(action)} is none of edit, create and delete`);
  if (!old || !now) return refuse(last, "bad-block", 'an edit needs old_content and new_content, an empty one as ""');
  return modifyBy(path, readEdit(fields, old, now, repairs, last), repairs, last).map((file) => ({ ...file, ...said }));
}

/** The old and the new content, without the indentation that both share. */
function readContents({ old_content, new_content }: Fields, repairs: Repair[]): (FieldContent | undefined)[] {
  const contents = [old_content, new_content];
  const present = contents.filter((field) => field !== undefined);
  for (const { value, lines, line } of present) {
    if (lines.every((each) => each.trim() === "")) continue;
    if (value === "") repair(repairs, line, "missing-bar");
    else if (!/^[|>]/.test(value)) refuse(line, "bad-block", "content of several lines begins below its key, behind |");
  }
  const indent = sharedIndent(present);
  return contents.map((field) => field && readContent(field, indent));
}

const RANGE = /^L?(\d{1,9})(?:\s*(?:-|–|\.\.|,|:|to)\s*L?(\d{1,9}))?$/i;

/** The lines that the edit names; models also write a range for one of them. */
function readPlace(fields: Fields, repairs: Repair[]): { start: number | null; end: number } {
  const [first, final] = [fields.line_start, fields.line_end].map((field) => {
    const text = readLine(field);
    const range = RANGE.exec(text);
    if (field && range === null && text !== "") repair(repairs, field.line, "bad-line-number", quote(text));
    return range;
  });
  const end = Number(final?.[2] ?? final?.[1] ?? first?.[2] ?? Number.NaN);
  return { start: first ? Math.max(1, Number(first[1])) : null, end };
}

function readEdit(fields: Fields, old: FieldContent, now: FieldContent, repairs: Repair[], last: number): Hunk | null {
  const { start, end } = readPlace(fields, repairs);
  const line = fields.line_start?.line ?? last;
  const count = old.lines.length;
  if (count === 0 && start === null)
    refuse(last, "bad-block", "without old_content line_start has to say before which line the new one goes");
  if (start !== null && !Number.isNaN(end) && end - start + 1 !== count) {
    if (count === 0 && end > start) refuse(line, "bad-block", `old_content does not quote lines ${start} to ${end}`);
    repair(repairs, line, "wrong-count", `${start} to ${end} for ${count}`);
  }
  // The end of a content is habit, unless one ends with a newline and the other does not.
  const told = old.chomp !== now.chomp && count > 0 && now.lines.length > 0;
  const bare = takeOffGutter(old.lines, now.lines, repairs, last, start);
  const [before, after] = [asText(bare.old, !told || old.chomp !== "-"), asText(bare.now, !told || now.chomp !== "-")];
  return changeOf(before, after, start ?? bare.start);
}
