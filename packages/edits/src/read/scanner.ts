import { needOptions, needText } from "../need.js";
import { Between } from "./between.js";
import { gather } from "./change.js";
import { closesFence, type Fence, isDiff, openInner, outdent } from "./fence.js";
import type { BlockEnd, EditBlock, EditEvent, Format, FormatName, ReadOptions } from "./format.js";
import { holdLine, lineOf, NOTHING, withoutEnd } from "./head.js";
import { attempt, Unreadable, unreadable } from "./message.js";
import { MAX_HEAD, mayOpen } from "./path-line.js";

interface OpenBlock {
  readonly block: EditBlock;
  readonly format: FormatName;
  readonly edit: number;
  /** Number of the block's first line in the output, counted from 1. */
  readonly firstLine: number;
  readonly fence: Fence | null;
  readonly start: number;
  /** The lines with their line ends; none once the block exceeds the limit, when only its end is searched. */
  raws: string[] | null;
  lines: string[];
  size: number;
  /** Lines that belong to the block only if the next one does. */
  maybe: string[];
  maybeSize: number;
  path: string | null;
  hasStarted: boolean;
  /** How many lines have been shown as progress. */
  shown: number;
}

/** The first characters of a line that opens a block, unless a fence is right above it. */
const MARKS = /^\s*[*<>@`~+d-]/;

/**
 * Reads a model's output in pieces, in time linear in its length; memory is that of one block. It is in one of four states:
 * in text, in prose (a code fence that is text), behind the fence of a head, or in a block.
 * Law: the events, adjacent text joined, are a function of the whole output and not of how it was cut.
 */
export class Scanner {
  readonly #formats: readonly Format[];
  readonly #limit: number;
  readonly #path: string | null;
  readonly #shows: boolean;
  readonly #give: (event: EditEvent) => void;
  readonly #between: Between;
  /** The start of the current line; or `isPassing`: it was emitted as text and the rest of the line will be. */
  #partial = "";
  #isPassing = false;
  #lineNumber = 0;
  /** The text has begun: a byte order mark in front is left out. */
  #hasBegun = false;
  #edits = 0;
  #open: OpenBlock | null = null;
  #held = NOTHING;
  /** A code fence that is prose: nothing in it opens a block. */
  #prose: Fence | null = null;
  /** The line that opened it may have been an end instead, see `HeldHead.isStray`. */
  #isStray = false;
  /** The last fence that ended, if only blank lines follow it. */
  #ended: Fence | null = null;
  /** The fence around a finished block: more blocks may follow in it, and its end is no text. */
  #wrapper: Fence | null = null;
  /** The same around a diff that has not begun yet. */
  #shown: Fence | null = null;
  /** No path is above the fence of such a diff. */
  #isExample = false;
  /** A block could not be read: apparent blocks behind it may be its content. */
  #hasFailed = false;

  /** `give` is called with each event, so unused events are not stored. */
  constructor(formats: readonly Format[], options: ReadOptions, shows: boolean, give: (event: EditEvent) => void) {
    needOptions(options, { path: "string", limit: "number", wholeFiles: "boolean" });
    this.#formats = formats;
    this.#limit = options.limit ?? 4 << 20;
    this.#path = options.path ?? null;
    this.#shows = shows;
    this.#give = give;
    this.#between = new Between(formats, (line, format, { reason, message }) => {
      // A block that was emitted as text is one without lines.
      this.#emit({ type: "start", edit: this.#edits, format });
      this.#emit({ type: "error", edit: this.#edits++, error: { line, reason, message }, source: "" });
    });
  }

  push(piece: string): void {
    needText({ text: piece });
    const text = this.#hasBegun ? piece : piece.replace(/^\ufeff/, "");
    this.#hasBegun ||= piece !== "";
    let from = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
      const line = text.slice(from, end + 1);
      const open = this.#partial === "" ? this.#open : null;
      from = end + 1;
      // The usual line of a block, which needs no more than this.
      if (open !== null && open.raws !== null && open.size + line.length <= this.#limit) {
        this.#lineNumber++;
        this.#feed(open, line);
        continue;
      }
      this.#takePiece(line);
      this.#endLine();
    }
    if (from < text.length) this.#takePiece(text.slice(from));
  }

  end(how: { complete?: boolean } = {}): void {
    needOptions(how, { complete: "boolean" });
    if (this.#partial !== "" || this.#isPassing) this.#endLine();
    // No line follows that could settle the content of a fence at the end.
    this.#lineNumber++;
    if (this.#open === null && this.#held.fence !== null) this.#openBlock("", true);
    while (this.#open !== null) {
      if (this.#open.block.isTentative) this.#giveUp(this.#open);
      else this.#finish(this.#open, how.complete === true);
    }
    this.#release();
    this.#between.end(this.#prose ?? this.#shown, this.#isExample, this.#edits);
  }

  /** Ends a block at the end of the text. Its held lines may be its last ones, or follow the end of its fence. */
  #finish(open: OpenBlock, isComplete: boolean): void {
    const { block, maybe, fence } = open;
    block.settle?.();
    const kept = block.kept ?? 0;
    this.#keepHeld(open, kept);
    const rest = maybe.slice(kept);
    const isClosed = fence !== null && rest.some((raw) => closesFence(lineOf(raw, fence), fence, 0));
    this.#lineNumber--;
    this.#close(open, isClosed ? "closed" : isComplete ? "complete" : "cut", rest);
    this.#lineNumber++;
  }

  #close(open: OpenBlock, end: BlockEnd, rest: readonly string[]): void {
    const { block, edit, firstLine, start, raws, lines } = open;
    if (raws !== null) {
      this.#tell(open);
      const isTorn = !raws.at(-1)!.endsWith("\n");
      const read = attempt((repairs) => block.read({ lines, start, end, isTorn, repairs }));
      if (read instanceof Unreadable) this.#fail(open, read);
      else {
        // In place: a block may have a repair for each of its lines.
        for (const repair of read.repairs) repair.line += firstLine;
        this.#emit({ type: "edit", edit, patch: gather(read.files), repairs: read.repairs });
      }
    }
    this.#open = null;
    this.#edits++;
    this.#lineNumber -= rest.length;
    this.#between.close(block, open.format, this.#lineNumber);
    for (const raw of rest) {
      this.#lineNumber++;
      this.#route(raw);
    }
  }

  #fail({ edit, firstLine, raws }: OpenBlock, { line, reason, message }: Unreadable): void {
    this.#emit({ type: "error", edit, error: { line: firstLine + line, reason, message }, source: raws!.join("") });
  }

  #emit(event: EditEvent): void {
    this.#hasFailed ||= event.type === "error";
    this.#give(this.#hasFailed && event.type === "edit" ? { ...event, type: "doubtful" } : event);
  }

  #emitText(text: string): void {
    if (text === "") return;
    if (this.#ended !== null && text.trim() !== "") this.#ended = null;
    this.#emit({ type: "text", text });
    this.#between.add(text, this.#prose ?? this.#shown, this.#isExample);
  }

  #tell(open: OpenBlock): void {
    const { block, edit, format, raws, lines, start } = open;
    if (!this.#shows) return;
    if (!open.hasStarted) this.#emit({ type: "start", edit, format });
    open.hasStarted = true;
    if (block.path !== null && block.path !== open.path) {
      open.path = block.path;
      this.#emit({ type: "path", edit, path: block.path });
    }
    for (; open.shown < lines.length; open.shown++) {
      const text = block.show(lines[open.shown]!, open.shown - start);
      if (text === null) continue;
      this.#emit({ type: "progress", edit, text: raws![open.shown]!.endsWith("\n") ? `${text}\n` : text });
    }
  }

  #takePiece(piece: string): void {
    if (this.#isPassing) return this.#emitText(piece);
    const open = this.#open;
    if (open?.raws === null) {
      // Enough to see whether the line ends the block; a longer one is taken for a part of it.
      if (this.#partial.length <= MAX_HEAD) this.#partial = (this.#partial + piece).slice(0, MAX_HEAD + 1);
      return;
    }
    this.#partial += piece;
    if (open !== null) this.#checkSize(open, this.#partial.length);
    if (this.#open === null && !this.#mayMatter(this.#partial)) {
      this.#release();
      this.#emitText(this.#partial);
      this.#partial = "";
      this.#isPassing = true;
    }
  }

  /** Whether the current line may become anything but text. */
  #mayMatter(partial: string): boolean {
    if (partial === "\n") return true;
    if (this.#held.fence !== null) return partial.length <= this.#limit;
    return this.#prose === null ? mayOpen(partial) : partial.length <= MAX_HEAD && /^[`~]*$/.test(partial.trim());
  }

  #endLine(): void {
    const raw = this.#partial;
    this.#partial = "";
    this.#lineNumber++;
    if (!this.#isPassing) this.#route(raw);
    this.#isPassing = false;
  }

  #route(raw: string): void {
    if (this.#open !== null) this.#feed(this.#open, raw);
    else if (this.#prose !== null) this.#routeProse(raw, this.#prose);
    else if (this.#held.fence === null && this.#wrapper !== null && closesFence(raw, this.#wrapper)) {
      this.#release();
      // The end of a fence that opened as text is text too.
      if (this.#shown === null) this.#between.skip();
      else this.#emitText(raw);
      this.#ended = this.#wrapper;
      this.#wrapper = this.#shown = null;
    } else if (this.#held.fence !== null && raw.replace(/\n$/, "").length > this.#limit) {
      this.#release();
      this.#route(raw);
    } else if (this.#held === NOTHING && raw === "\n") this.#emitText(raw);
    else if (this.#tryOpen(raw, false) || this.#hold(raw) || this.#tryOpen(raw, true)) return;
    else if (this.#held === NOTHING) this.#emitText(raw);
    else {
      this.#release();
      this.#route(raw);
    }
  }

  #routeProse(raw: string, prose: Fence): void {
    const isOpening = this.#isStray && openInner(raw, prose) !== null;
    if (isOpening || closesFence(raw, prose)) this.#prose = null;
    if (isOpening) this.#route(raw);
    else this.#emitText(raw);
  }

  #hold(raw: string): boolean {
    const held = holdLine(this.#held, raw, this.#ended);
    this.#held = held ?? this.#held;
    return held !== null;
  }

  #tryOpen(raw: string, isSettled: boolean): boolean {
    this.#openBlock(raw, isSettled);
    if (this.#open === null) return false;
    this.#feed(this.#open, raw, true);
    return true;
  }

  #openBlock(raw: string, isSettled: boolean): void {
    const { raws, path, innerPath, fence } = this.#held;
    if (fence === null && !MARKS.test(raw)) return;
    const around = fence ?? this.#wrapper;
    const head = {
      line: outdent(withoutEnd(raw), around),
      before: outdent(withoutEnd(raws.findLast((raw) => raw.trim() !== "") ?? ""), around),
      path,
      innerPath,
      fence: around && { ...around, indent: "" },
      isFenceStart: fence !== null,
      isSettled,
      previousPath: this.#between.path,
      previousFormat: this.#between.format,
      defaultPath: this.#between.isDoubtful ? null : this.#path,
    };
    for (const format of this.#formats) {
      const block = format.open(head);
      if (block === null) continue;
      const open: OpenBlock = {
        block,
        format: format.name,
        edit: this.#edits,
        firstLine: this.#lineNumber - raws.length,
        fence: around,
        start: raws.length,
        raws: [],
        lines: [],
        size: 0,
        maybe: [],
        maybeSize: 0,
        path: null,
        hasStarted: false,
        shown: 0,
      };
      this.#open = open;
      this.#between.open(block);
      if (!block.ownsFence) this.#wrapper = around;
      this.#shown = null;
      this.#held = NOTHING;
      for (const raw of raws) this.#keep(open, raw, lineOf(raw, around));
      if (!block.isTentative) this.#tell(open);
      return;
    }
  }

  #release(): void {
    const { raws, fence, path, isStray } = this.#held;
    this.#isExample = path === null;
    this.#isStray = isStray;
    this.#held = NOTHING;
    // A fence of a diff may begin with prose, or with lines that a tool writes above the header.
    if (fence !== null && isDiff(fence)) this.#shown = this.#wrapper = fence;
    // The content of a tag is no code that could show a block.
    else if (fence !== null && fence.length > 0) this.#prose = fence;
    for (const raw of raws) this.#emitText(raw);
  }

  #feed(open: OpenBlock, raw: string, isOpening = false): void {
    this.#checkSize(open, raw.length);
    if (this.#open === null) return this.#route(raw);
    if (open.raws === null && raw.length > MAX_HEAD) return;
    const { block, maybe } = open;
    const line = lineOf(raw, open.fence);
    const taken = block.take(line, isOpening);
    if (taken === "maybe") {
      maybe.push(raw);
      open.maybeSize += raw.length;
      return this.#checkSize(open, open.maybeSize);
    }
    const kept = taken === "past" ? (block.kept ?? 0) : maybe.length;
    if (maybe.length > 0) this.#keepHeld(open, kept);
    if (taken !== "past") this.#keep(open, raw, line);
    if (!block.isTentative && open.raws !== null) this.#tell(open);
    if (taken === "text") return this.#giveUp(open);
    if (taken === "more") return;
    this.#between.meet(block.path);
    this.#close(open, "closed", taken === "past" ? [...maybe.slice(kept), raw] : []);
  }

  #keepHeld(open: OpenBlock, count: number): void {
    for (const raw of open.maybe.slice(0, count)) this.#keep(open, raw, lineOf(raw, open.fence));
    open.maybe = [];
    open.maybeSize = 0;
  }

  #keep(open: OpenBlock, raw: string, line: string): void {
    if (open.raws === null) return;
    // The lines as they were written are only shown, or emitted as text where the block is none.
    const isQuoted = this.#shows || open.block.isTentative || !raw.endsWith("\n");
    open.raws.push(isQuoted ? raw : "\n");
    open.lines.push(line);
    open.size += raw.length;
  }

  /** Reports a block that is too long with so many code units more, and drops its lines. */
  #checkSize(open: OpenBlock, more: number): void {
    if (open.raws === null || open.size + more <= this.#limit) return;
    if (open.block.isTentative) return this.#giveUp(open);
    this.#fail(open, unreadable(open.raws.length, "too-long", `over ${this.#limit} UTF-16 code units`));
    open.raws = null;
    open.lines = open.maybe = [];
  }

  #giveUp({ raws, fence }: OpenBlock): void {
    this.#open = null;
    this.#prose = fence !== null && closesFence(raws!.at(-1) ?? "", fence) ? null : fence;
    for (const raw of raws!) this.#emitText(raw);
  }
}
