import type { Hunk } from "../patch.js";
import type { Repair } from "../reading.js";
import { type BlockReading, refuse } from "./block.js";
import { asLines, changeOf } from "./change.js";
import { type Content, type Field, type Key, readContent, readScalar, sharedIndent } from "./edit-fields.js";

/** What the fields of an edit block mean; `last` is the block's last line, for errors about what is not there. */
export function readChange(
  fields: ReadonlyMap<Key, Field>,
  repairs: Repair[],
  last: number,
  defaultPath: string | null,
): BlockReading {
  const path = textOf(fields.get("file")) || defaultPath;
  if (path === null) return refuse(last, "no-path", "The edit block names no file; write `file: <path>`.");
  const contents = [fields.get("old_content"), fields.get("new_content")].filter((field) => field !== undefined);
  for (const { value, lines, line } of contents) {
    if (lines.every((each) => each.trim() === "")) continue;
    if (value === "") repairs.push({ kind: "missing-bar", line, message: "Content stands below its key without `|`." });
    else if (!/^[|>]/.test(value))
      return refuse(
        line,
        "bad-block",
        "Content of several lines begins on its key's line; begin it below, behind `|`.",
      );
  }
  const indent = sharedIndent(contents);
  const [old, now] = (["old_content", "new_content"] as const).map((key) => {
    const field = fields.get(key);
    return field === undefined ? null : readContent(field, indent);
  }) as [Content | null, Content | null];
  const action = textOf(fields.get("action")).toLowerCase();
  const reason = textOf(fields.get("reason"));
  const rest = reason === "" ? {} : { reason };
  if (action === "create" || action === "delete") {
    const [kept, other] = action === "create" ? [now, old] : [old, now];
    if (other !== null && other.lines.length > 0)
      return refuse(
        last,
        "bad-block",
        `The file is to be ${action}d, but there is also ${action === "create" ? "old" : "new"} content; write \`action: edit\` for a change.`,
      );
    const lines = asLines(kept?.lines ?? [], kept?.chomp !== "-" || kept.lines.length === 0);
    const hunk = action === "create" ? changeOf(asLines([]), lines, 1) : changeOf(lines, asLines([]), 1);
    const sides = action === "create" ? { before: null, after: path } : { before: path, after: null };
    return { ok: true, files: [{ kind: action, ...sides, hunks: hunk === null ? [] : [hunk], ...rest }], repairs };
  }
  if (action === "" && old !== null && now !== null)
    repairs.push({
      kind: "missing-action",
      line: last,
      message: "There is no action; old and new content make it an edit.",
    });
  else if (action !== "edit")
    return refuse(
      fields.get("action")?.line ?? last,
      "bad-block",
      `The action "${action}" is not known; write edit, create or delete.`,
    );
  const hunk = readEdit(fields, old, now, repairs, last);
  return "ok" in hunk
    ? hunk
    : { ok: true, files: [{ kind: "modify", before: path, after: path, hunks: [hunk], ...rest }], repairs };
}

function readEdit(
  fields: ReadonlyMap<Key, Field>,
  old: Content | null,
  now: Content | null,
  repairs: Repair[],
  last: number,
): Hunk | BlockReading {
  if (old === null || now === null)
    return refuse(last, "bad-block", `The edit has no ${old ? "new" : "old"}_content; write both, an empty one as "".`);
  const { start, end } = readPlace(fields, repairs);
  const line = fields.get("line_start")?.line ?? last;
  if (old.lines.length === 0) {
    if (start === null)
      return refuse(
        last,
        "bad-block",
        "Without old content an edit inserts; `line_start` has to say before which line.",
      );
    if (end !== null && end > start)
      return refuse(
        line,
        "bad-block",
        `Lines ${start} to ${end} are to be replaced, but old_content does not quote them.`,
      );
  }
  if (end !== null && start !== null && end - start + 1 !== old.lines.length)
    repairs.push({
      kind: "wrong-count",
      line,
      message: `Lines ${start} to ${end} are not as many as old_content has (${old.lines.length}).`,
    });
  // How a content ends is habit, unless one ends with a newline and the other does not.
  const told = old.chomp !== now.chomp && old.lines.length > 0 && now.lines.length > 0;
  const [before, after] = [old, now].map(({ lines, chomp }) => asLines(lines, !told || chomp !== "-"));
  return (
    changeOf(before!, after!, start) ??
    refuse(last, "no-change", "Old and new content are the same, so the edit changes nothing.")
  );
}

const RANGE = /^[Ll]?(\d{1,9})(?:\s*(?:-|–|\.\.|,|:|to)\s*[Ll]?(\d{1,9}))?$/;

/** The lines the edit says it is about; models also write a range for one of them. */
function readPlace(fields: ReadonlyMap<Key, Field>, repairs: Repair[]): { start: number | null; end: number | null } {
  const [first, last] = (["line_start", "line_end"] as const).map((key) => {
    const text = textOf(fields.get(key));
    const range = RANGE.exec(text);
    if (range === null && text !== "")
      repairs.push({
        kind: "bad-line-number",
        line: fields.get(key)!.line,
        message: `"${text}" is no line number and was left out.`,
      });
    return range;
  });
  const end = last?.[2] ?? last?.[1] ?? first?.[2];
  return { start: first ? Math.max(1, Number(first[1])) : null, end: end === undefined ? null : Number(end) };
}

/** The value of a field that is one line, however many it was written on; empty where there is none. */
function textOf(field: Field | undefined): string {
  if (field === undefined || field.lines.length === 0) return readScalar(field?.value ?? "");
  const lines = /^[|>]/.test(field.value) ? field.lines : [field.value, ...field.lines];
  return lines
    .map((line) => line.trim())
    .join(" ")
    .trim();
}
