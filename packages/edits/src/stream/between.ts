import type { Block, Format, FormatName } from "../formats/block.js";
import type { Fence } from "../formats/fence.js";
import { followPaths } from "../formats/lead.js";
import { type Unreadable, unreadable } from "../formats/message.js";
import { quote } from "../reading.js";
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

  function tell(name: FormatName, error: Unreadable): void {
    reported = true;
    report(emitted, name, error);
  }

  function endLine(prose: Fence | null): void {
    const line = chomp(written.slice(0, LINE_LIMIT));
    written = "";
    emitted++;
    paths.pass(line);
    const stray = last?.behind?.(line);
    if (reported) return;
    if (stray) return tell(format!, stray);
    if (prose !== null && /^(?:markdown|md)\b/i.test(prose.info)) return;
    const bare = line.replace(/^(?:[ \t]|>[ \t])+/, "");
    const lost = formats.find((each) => each.isLost?.(bare, prose));
    if (lost !== undefined) tell(lost.name, unreadable(0, "bad-block", `${quote(line)} is in no edit; ${lost.advice}`));
  }

  return {
    paths,
    get format() {
      return format;
    },
    /** Adds a piece of text; `prose` is the code fence around it. */
    add(text: string, prose: Fence | null): void {
      if (written.length < LINE_LIMIT) written += text;
      if (text.endsWith("\n")) endLine(prose);
    },
    end(prose: Fence | null): void {
      if (written !== "") endLine(prose);
    },
    /** Passes over a line that is no text. */
    skip(): void {
      emitted++;
    },
    open(): void {
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
