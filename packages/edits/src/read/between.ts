import { closesFence, type Fence, openFence } from "./fence.js";
import type { EditBlock, Format, FormatName } from "./format.js";
import { Unreadable } from "./message.js";
import { isSamePath, listPaths, mayNameFile, parseLead, parsePathLine, plainPath } from "./path-line.js";

const MAX_EXAMINED = 1 << 13;

/** Examines the text between blocks: it may name the file of the next block, or hold an edit that was not read. */
export class Between {
  readonly #formats: readonly Format[];
  readonly #report: (line: number, format: FormatName, error: Unreadable) => void;
  /**
   * The file of a block that names none: that of the block before it, unless the text between them names another. A line that
   * leads up to an edit of one file names the next one; any other line that names a file leaves a doubt.
   */
  path: string | null = null;
  isDoubtful = false;
  /** The format of the block before. */
  format: FormatName | null = null;
  #last: EditBlock | null = null;
  /** A block with a path was read: before it there is nothing that could be carried over. */
  #hasPath = false;
  /** The fence around the current line, and the only line in it, or a line feed for several. */
  #fence: Fence | null = null;
  #inner = "";
  /** The current line of text, as far as it is examined, and the number of lines that were emitted. */
  #line = "";
  #emitted = 0;
  #hasReported = false;
  /** The first item of a list behind the block. */
  #item: { line: number; error: Unreadable } | null = null;
  /** The first line that may show an edit as an example. */
  #example: { line: number; name: FormatName; error: Unreadable } | null = null;

  constructor(formats: readonly Format[], report: (line: number, format: FormatName, error: Unreadable) => void) {
    this.#formats = formats;
    this.#report = report;
  }

  /** Adds a piece of text; `prose` is the code fence around it. `isExample`: no path is above the fence. */
  add(text: string, prose: Fence | null, isExample: boolean): void {
    if (this.#line.length < MAX_EXAMINED) this.#line += text;
    if (text.endsWith("\n")) this.#endLine(prose, isExample);
  }

  /** Ends the text. An example counts as an edit that was lost only where the text had no other. */
  end(prose: Fence | null, isExample: boolean, edits: number): void {
    if (this.#line !== "") this.#endLine(prose, isExample);
    const example = this.#example;
    if (example !== null && edits === 0) this.#report(example.line, example.name, example.error);
  }

  skip(): void {
    this.#emitted++;
  }

  open(block: EditBlock): void {
    const item = this.#item;
    if (item !== null && block.isContinued) this.#report(item.line, this.format!, item.error);
    this.#item = null;
    this.#hasReported = false;
  }

  close(block: EditBlock, format: FormatName, lines: number): void {
    this.#last = block;
    this.format = format;
    this.#emitted = lines;
  }

  meet(path: string | null): void {
    if (path === null) return;
    this.path = path;
    this.#hasPath = true;
    this.isDoubtful = false;
    this.#fence = null;
  }

  #endLine(prose: Fence | null, isExample: boolean): void {
    const line = this.#line.slice(0, MAX_EXAMINED).replace(/\r?\n$/, "");
    this.#line = "";
    this.#emitted++;
    this.#followPath(line);
    const stray = this.#last?.behind?.(line) ?? null;
    if (this.#hasReported) return;
    if (stray !== null && !stray.isItem) return this.#tell(this.format!, stray.error);
    if (stray !== null) this.#item ??= { line: this.#emitted, error: stray.error };
    if (prose !== null && /^(?:markdown|md)\b/i.test(prose.info)) return;
    const bare = line.replace(/^(?:[ \t]|>[ \t])+/, "");
    for (const { name, findLost } of this.#formats) {
      const found = findLost?.(bare, prose, line) ?? null;
      if (found === null) continue;
      const error = typeof found === "string" ? new Unreadable(0, "bad-block", found) : found;
      if (error === found || !isExample) return this.#tell(name, error);
      this.#example ??= { line: this.#emitted, name, error };
    }
  }

  #tell(name: FormatName, error: Unreadable): void {
    this.#hasReported = true;
    this.#report(this.#emitted, name, error);
  }

  #followPath(line: string): void {
    if (this.#fence === null) {
      this.#fence = openFence(line);
      this.#inner = "";
      if (this.#fence === null && mayNameFile(line)) this.#lead(parseLead(line), line);
    } else if (!closesFence(line, this.#fence)) {
      if (line.trim() !== "") this.#inner = this.#inner === "" ? line : "\n";
    } else {
      this.#fence = null;
      // A path alone in a fence leads up to what is behind it: the fence may be one end too many.
      const alone = parsePathLine(this.#inner);
      if (alone !== null) this.#lead(plainPath(alone), "");
    }
  }

  #lead(lead: string | null, line: string): void {
    const named = lead === null ? listPaths(line) : [lead];
    if (named.every((each) => this.path !== null && isSamePath(each, this.path))) return;
    this.path = lead;
    this.isDoubtful = this.#hasPath && lead === null;
  }
}
