import type { Fence } from "./fence.js";
import type { Block, Format, FormatName } from "./format.js";
import { followPaths } from "./lead.js";
import { Unreadable } from "./message.js";
import { chomp } from "./open-block.js";

/** The most characters of a line of text that are examined. */
const LINE_LIMIT = 1 << 13;

/**
 * Examines the text between blocks: a line of it may lead up to an edit, or be one that was not read. The first such line
 * behind a block is reported, with its number.
 */
export function watchText(
  formats: readonly Format[],
  report: (line: number, format: FormatName, error: Unreadable) => void,
) {
  const paths = followPaths();
  /** The line of text at hand, as far as it is examined, and the number of lines that were emitted. */
  let written = "";
  let emitted = 0;
  /** The block before the text at hand, and its format. */
  let last: Block | null = null;
  let format: FormatName | null = null;
  let reported = false;
  /** The first item of a list behind the block. */
  let item: { line: number; error: Unreadable } | null = null;
  /** The first line that may show an edit as an example. */
  let example: { line: number; name: FormatName; error: Unreadable } | null = null;

  function tell(name: FormatName, error: Unreadable): void {
    reported = true;
    report(emitted, name, error);
  }

  /** `isExample`: the fence has no path above it, so a diff in it may only illustrate. */
  function endLine(prose: Fence | null, isExample: boolean): void {
    const line = chomp(written.slice(0, LINE_LIMIT));
    written = "";
    emitted++;
    paths.pass(line);
    const stray = last?.behind?.(line) ?? null;
    if (reported) return;
    if (stray !== null && !stray.isItem) return tell(format!, stray.error);
    if (stray !== null) item ??= { line: emitted, error: stray.error };
    if (prose !== null && /^(?:markdown|md)\b/i.test(prose.info)) return;
    const bare = line.replace(/^(?:[ \t]|>[ \t])+/, "");
    for (const { name, findLost } of formats) {
      const found = findLost?.(bare, prose, line) ?? null;
      if (found === null) continue;
      const error = typeof found === "string" ? new Unreadable(0, "bad-block", found) : found;
      if (error === found || !isExample) return tell(name, error);
      example ??= { line: emitted, name, error };
    }
  }

  return {
    paths,
    get format() {
      return format;
    },
    /** Adds a piece of text; `prose` is the code fence around it. */
    add(text: string, prose: Fence | null, isExample: boolean): void {
      if (written.length < LINE_LIMIT) written += text;
      if (text.endsWith("\n")) endLine(prose, isExample);
    },
    /** Ends the text. An example counts as an edit that was lost only where the text had no other. */
    end(prose: Fence | null, isExample: boolean, edits: number): void {
      if (written !== "") endLine(prose, isExample);
      if (example !== null && edits === 0) report(example.line, example.name, example.error);
    },
    /** Passes over a line that is no text. */
    skip(): void {
      emitted++;
    },
    open(block: Block): void {
      if (item !== null && block.continues) report(item.line, format!, item.error);
      item = null;
      reported = false;
    },
    /** Goes on behind a block and the lines before this one. */
    close(block: Block, name: FormatName, lines: number): void {
      last = block;
      format = name;
      emitted = lines;
    },
  };
}
