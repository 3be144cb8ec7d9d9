import type { FilePatch, Hunk } from "../patch.js";
import { quote, type Repair } from "../reading.js";
import { asText, changeOf, create, modifyBy, remove } from "./change.js";
import { type Content, type Field, type Key, readContent, readLine, sharedIndent } from "./edit-fields.js";
import { takeOffGutter } from "./gutter.js";
import { refuse, repair } from "./message.js";

export type Fields = { [key in Key]?: Field };

/** Interprets the fields of an edit block; `last` is the block's last line, for errors about missing fields. */
export function readFields(fields: Fields, repairs: Repair[], last: number, defaultPath: string | null): FilePatch[] {
  const path = readLine(fields.file) || defaultPath || refuse(last, "no-path");
  const contents = [fields.old_content, fields.new_content];
  const present = contents.filter((field) => field !== undefined);
  for (const { value, lines, line } of present) {
    if (lines.every((each) => each.trim() === "")) continue;
    if (value === "") repair(repairs, line, "missing-bar");
    else if (!/^[|>]/.test(value)) refuse(line, "bad-block", "content of several lines begins below its key, behind |");
  }
  const indent = sharedIndent(present);
  const [old, now] = contents.map((field) => field && readContent(field, indent));
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

function readEdit(fields: Fields, old: Content, now: Content, repairs: Repair[], last: number): Hunk | null {
  const { start, end } = readPlace(fields, repairs);
  const line = fields.line_start?.line ?? last;
  const count = old.lines.length;
  if (count === 0 && start === null)
    refuse(last, "bad-block", "without old_content line_start has to say before which line the new one goes");
  if (start !== null && end !== null && end - start + 1 !== count) {
    if (count === 0 && end > start) refuse(line, "bad-block", `old_content does not quote lines ${start} to ${end}`);
    repair(repairs, line, "wrong-count", `${start} to ${end} for ${count}`);
  }
  // The end of a content is habit, unless one ends with a newline and the other does not.
  const told = old.chomp !== now.chomp && count > 0 && now.lines.length > 0;
  const bare = takeOffGutter(old.lines, now.lines, repairs, last, start);
  return changeOf(
    asText(bare.old, !told || old.chomp !== "-"),
    asText(bare.now, !told || now.chomp !== "-"),
    start ?? bare.start,
  );
}

const RANGE = /^L?(\d{1,9})(?:\s*(?:-|–|\.\.|,|:|to)\s*L?(\d{1,9}))?$/i;

/** The lines that the edit names; models also write a range for one of them. */
function readPlace(fields: Fields, repairs: Repair[]): { start: number | null; end: number | null } {
  const [first, last] = [fields.line_start, fields.line_end].map((field) => {
    const text = readLine(field);
    const range = RANGE.exec(text);
    if (field && range === null && text !== "") repair(repairs, field.line, "bad-line-number", quote(text));
    return range;
  });
  const end = last?.[2] ?? last?.[1] ?? first?.[2];
  return { start: first ? Math.max(1, Number(first[1])) : null, end: end === undefined ? null : Number(end) };
}
