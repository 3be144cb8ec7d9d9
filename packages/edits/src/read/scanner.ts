import { withoutReturn } from "../lines.js";
import { needOptions, needText } from "../need.js";
import { Between } from "./between.js";
import { gather } from "./change.js";
import { closesFence, type Fence, isDiff, openFence, openInner, openTag, outdent } from "./fence.js";
import type { BlockEnd, EditBlock, EditEvent, Format, FormatName, Head, ReadOptions } from "./format.js";
import { attempt, Unreadable, unreadable } from "./message.js";
import { MAX_HEAD, mayOpen, parseInfoPath, parsePathLine } from "./path-line.js";

/** Lines held back because a later one may make them the head of a block. */
interface HeldHead {
  readonly raws: readonly string[];
  readonly path: string | null;
  readonly innerPath: string | null;
  readonly fence: Fence | null;
  /** Lines between the fence and the current line, blank ones left out. */
  readonly inner: number;
  /** The fence follows that of a block immediately, so it may be a second end of it. */
  readonly isStray: boolean;
}

const NOTHING: HeldHead = { raws: [], path: null, innerPath: null, fence: null, inner: 0, isStray: false };

/** A block being read, with its lines and the events emitted so far. */
interface OpenBlock {
  readonly block: EditBlock;
  readonly format: FormatName;
  readonly edit: number;
  /** Number of the block's first line in the output, counted from 1. */
  readonly firstLine: number;
  readonly fence: Fence | null;
  /** Lines before the opening one. */
  readonly start: number;
  /** The lines with their line ends; none once the block exceeds the limit, when only its end is searched. */
  raws: string[] | null;
  /** The same as the block reads them. */
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
  constructor(formats: readonly Format[], options: ReadOptions, give: (event: EditEvent) => void) {
    needOptions(options, { path: "string", limit: "number", wholeFiles: "boolean" });
    this.#formats = formats;
    this.#limit = options.limit ?? 4 << 20;
    this.#path = options.path ?? null;
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
      this.#takePiece(text.slice(from, end + 1));
      this.#endLine();
      from = end + 1;
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

  /** Reads the block and emits its result; these lines follow it and are routed anew. */
  #close(open: OpenBlock, end: BlockEnd, rest: readonly string[]): void {
    this.#read(open, end);
    this.#open = null;
    this.#edits++;
    this.#lineNumber -= rest.length;
    this.#between.close(open.block, open.format, this.#lineNumber);
    for (const raw of rest) {
      this.#lineNumber++;
      this.#route(raw);
    }
  }

  /** Reads the block as a whole. */
  #read(open: OpenBlock, end: BlockEnd): void {
    const { block, edit, firstLine, start, raws, lines } = open;
    if (raws === null) return;
    this.#tell(open);
    const isTorn = !raws.at(-1)!.endsWith("\n");
    const read = attempt((repairs) => block.read({ lines, start, end, isTorn, repairs }));
    if (read instanceof Unreadable) return this.#fail(open, read);
    // In place: a block may have a repair for each of its lines.
    for (const repair of read.repairs) repair.line += firstLine;
    this.#emit({ type: "edit", edit, patch: gather(read.files), repairs: read.repairs });
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

  /** Emits new events of the block. */
  #tell(open: OpenBlock): void {
    const { block, edit, format, raws, lines, start } = open;
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
    if (open !== null && open.size + this.#partial.length > this.#limit) this.#outgrow(open);
    if (this.#open === null && !this.#mayMatter()) {
      this.#release();
      this.#emitText(this.#partial);
      this.#partial = "";
      this.#isPassing = true;
    }
  }

  /** Whether the current line may become anything but text. */
  #mayMatter(): boolean {
    const partial = this.#partial;
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

  #tryOpen(raw: string, isSettled: boolean): boolean {
    this.#openBlock(raw, isSettled);
    if (this.#open === null) return false;
    this.#feed(this.#open, raw, true);
    return true;
  }

  /** Opens the block whose head ends with this line, if there is one; the line is still to be fed to it. */
  #openBlock(raw: string, isSettled: boolean): void {
    const { raws, path, innerPath, fence } = this.#held;
    if (fence === null && !MARKS.test(raw)) return;
    const around = fence ?? this.#wrapper;
    const head: Head = {
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
      this.#open = {
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
      this.#between.open(block);
      if (!block.ownsFence) this.#wrapper = around;
      this.#shown = null;
      this.#held = NOTHING;
      for (const raw of raws) this.#keep(this.#open, raw, lineOf(raw, around));
      if (!block.isTentative) this.#tell(this.#open);
      return;
    }
  }

  /** Holds the line if a later one may open a block whose head it belongs to. */
  #hold(raw: string): boolean {
    const line = withoutEnd(raw);
    if (line.length > MAX_HEAD) return false;
    const { raws, path, fence } = this.#held;
    const opened = openFence(line) ?? openTag(line);
    const isBlank = line.trim() === "";
    let held: HeldHead | null;
    if (opened !== null) held = this.#holdFence(line, opened);
    else if (!isBlank) held = this.#holdLine(line);
    // Blank lines are part of a head that has begun.
    else held = (path ?? fence) !== null || raws.at(-1)?.startsWith("--- ") ? this.#held : null;
    if (held === null || (isBlank && raws.length > 4)) return false;
    this.#held = { ...held, raws: [...raws, raw] };
    return true;
  }

  #holdFence(line: string, fence: Fence): HeldHead | null {
    const { raws, path, fence: outer } = this.#held;
    if (outer !== null || (raws.length > 0 && path === null)) return null;
    const isStray = this.#ended !== null && closesFence(line, this.#ended);
    return { ...this.#held, fence, path: parseInfoPath(fence.info) ?? path, isStray };
  }

  /** Below a fence two lines are held, one of which may be a path; above it one that is a path or that of a diff. */
  #holdLine(line: string): HeldHead | null {
    const { raws, fence, inner, innerPath } = this.#held;
    const path = parsePathLine(line);
    if (fence !== null) return inner === 2 ? null : { ...this.#held, inner: inner + 1, innerPath: path ?? innerPath };
    return raws.length === 0 && (path !== null || line.startsWith("--- ")) ? { ...this.#held, path } : null;
  }

  /** Emits the held lines as text. */
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
    if (open.raws !== null && open.size + raw.length > this.#limit) this.#outgrow(open);
    if (this.#open === null) return this.#route(raw);
    if (open.raws === null && raw.length > MAX_HEAD) return;
    const { block, maybe } = open;
    const line = lineOf(raw, open.fence);
    const taken = block.take(line, isOpening);
    if (taken === "maybe") {
      maybe.push(raw);
      open.maybeSize += raw.length;
      if (open.raws !== null && open.size + open.maybeSize > this.#limit) this.#outgrow(open);
      return;
    }
    const kept = taken === "past" ? (block.kept ?? 0) : maybe.length;
    if (maybe.length > 0) this.#keepHeld(open, kept);
    if (taken !== "past") this.#keep(open, raw, line);
    if (!block.isTentative && open.raws !== null) this.#tell(open);
    if (taken === "text") this.#giveUp(open);
    else if (taken !== "more") {
      this.#between.meet(block.path);
      this.#close(open, "closed", taken === "past" ? [...maybe.slice(kept), raw] : []);
    }
  }

  /** Adds so many of the held lines to the block, and holds none any longer. */
  #keepHeld(open: OpenBlock, count: number): void {
    for (const raw of open.maybe.slice(0, count)) this.#keep(open, raw, lineOf(raw, open.fence));
    open.maybe = [];
    open.maybeSize = 0;
  }

  /** Adds a line to the block. */
  #keep(open: OpenBlock, raw: string, line: string): void {
    if (open.raws === null) return;
    open.raws.push(raw);
    open.lines.push(line);
    open.size += raw.length;
  }

  /** Reports that the block is too long and drops its lines. */
  #outgrow(open: OpenBlock): void {
    if (open.block.isTentative) return this.#giveUp(open);
    this.#fail(open, unreadable(open.raws!.length, "too-long", `over ${this.#limit} UTF-16 code units`));
    open.raws = null;
    open.lines = open.maybe = [];
  }

  /** Treats the lines as a code fence of the prose, which the last one may have closed. */
  #giveUp({ raws, fence }: OpenBlock): void {
    this.#open = null;
    this.#prose = fence !== null && closesFence(raws!.at(-1) ?? "", fence) ? null : fence;
    for (const raw of raws!) this.#emitText(raw);
  }
}

/** The line as the block reads it. */
function lineOf(raw: string, fence: Fence | null): string {
  return outdent(raw.endsWith("\n") ? raw.slice(0, -1) : raw, fence);
}

/** The line without its end. */
function withoutEnd(raw: string): string {
  return raw.endsWith("\n") ? withoutReturn(raw.slice(0, -1)) : raw;
}
