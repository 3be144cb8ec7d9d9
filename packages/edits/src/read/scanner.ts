import { needOptions, needText } from "../need.js";
import { DIFF } from "../unified/block.js";
import { watchText } from "./between.js";
import { closesFence, type Fence, HEAD_LIMIT, mayOpen, openInner, outdent } from "./fence.js";
import type { Format, Head } from "./format.js";
import { hold, NOTHING } from "./held.js";
import { chomp, closeBlock, lineOf, type OpenBlock, overflow, tell } from "./open-block.js";
import type { EditEvent, EditReader, ReadOptions } from "./reader.js";

/**
 * Reads a model's output in pieces, in time linear in its length; memory is that of one block.
 * Law: the events, adjacent text joined, are a function of the whole output and not of how it was cut.
 */
export function scanEdits(formats: readonly Format[], options: ReadOptions = {}): EditReader {
  let events: EditEvent[] = [];
  const scanner = startScan(formats, options, (event) => events.push(event));
  const drain = () => {
    const drained = events;
    events = [];
    return drained;
  };
  return {
    push(text) {
      scanner.push(text);
      return drain();
    },
    end(how) {
      scanner.end(how);
      return drain();
    },
  };
}

/** The same with a callback for each event, so unused events are not stored. */
export function startScan(formats: readonly Format[], options: ReadOptions, give: (event: EditEvent) => void) {
  needOptions(options, { path: "string", limit: "number", wholeFiles: "boolean" });
  const limit = options.limit ?? 4 << 20;
  /** The current line so far; or `passing`: its start was emitted as text and its rest will be. */
  let partial = "";
  let passing = false;
  let lineNumber = 0;
  /** The text has begun: a byte order mark in front is left out. */
  let started = false;
  let edits = 0;
  let open: OpenBlock | null = null;
  let held = NOTHING;
  /** A code fence that is prose: nothing in it opens a block. */
  let prose: Fence | null = null;
  /** What opened it may have been no opening, see `Held.stray`. */
  let stray = false;
  /** The last fence that ended, if only blank lines follow it. */
  let ended: Fence | null = null;
  /** The fence around a finished block: more blocks may follow in it, and its end is no text. */
  let wrapper: Fence | null = null;
  /** The same around a diff that has not begun yet. */
  let shown: Fence | null = null;
  /** No path is above the fence of such a diff. */
  let isExample = false;
  /** A block could not be read: apparent blocks behind it may be its content. */
  let failed = false;

  const between = watchText(formats, (line, format, { reason, message }) => {
    // A block that was emitted as text is one without lines.
    emit({ type: "start", edit: edits, format });
    emit({ type: "error", edit: edits++, error: { line, reason, message }, source: "" });
  });

  return {
    push(piece: string): void {
      needText({ text: piece });
      const text = started ? piece : piece.replace(/^\ufeff/, "");
      started ||= piece !== "";
      let from = 0;
      for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", from)) {
        takePiece(text.slice(from, end + 1));
        endLine();
        from = end + 1;
      }
      if (from < text.length) takePiece(text.slice(from));
    },
    end(how: { complete?: boolean } = {}): void {
      needOptions(how, { complete: "boolean" });
      if (partial !== "" || passing) endLine();
      // No line follows that could settle what a fence at the end holds.
      lineNumber++;
      if (open === null && held.fence !== null) openBlock("", true);
      if (open === null) release();
      else if (open.block.tentative) giveUp(open);
      else finish(open, how.complete === true);
      between.end(prose ?? shown, isExample, edits);
    },
  };

  /** The text ends in a block. What it holds may be its last lines, or come behind the end of its fence. */
  function finish(current: OpenBlock, complete: boolean): void {
    const { block, maybe, fence } = current;
    block.settle?.();
    const kept = block.kept ?? 0;
    keep(current, ...maybe.slice(0, kept));
    const rest = maybe.slice(kept);
    const closed = fence !== null && rest.some((raw) => closesFence(lineOf(raw, fence), fence, 0));
    closeBlock(current, closed ? "closed" : complete ? "complete" : "cut", emit);
    open = null;
    edits++;
    between.close(block, current.format, lineNumber - 1 - rest.length);
    lineNumber--;
    routeAgain(rest);
    lineNumber++;
    if (open !== null) finish(open, complete);
    release();
  }

  /** Routes lines that were held and are no block's after all. */
  function routeAgain(raws: readonly string[]): void {
    lineNumber -= raws.length;
    for (const raw of raws) {
      lineNumber++;
      route(raw);
    }
  }

  function emit(event: EditEvent): void {
    failed ||= event.type === "error";
    give(failed && event.type === "edit" ? { ...event, type: "doubtful" } : event);
  }

  function emitText(text: string): void {
    if (text === "") return;
    if (ended !== null && text.trim() !== "") ended = null;
    emit({ type: "text", text });
    between.add(text, prose ?? shown, isExample);
  }

  function takePiece(piece: string): void {
    if (passing) return emitText(piece);
    if (open?.raws === null) {
      // Enough to see whether the line ends the block; a longer one is taken for a part of it.
      if (partial.length <= HEAD_LIMIT) partial = (partial + piece).slice(0, HEAD_LIMIT + 1);
      return;
    }
    partial += piece;
    if (open !== null && open.size + partial.length > limit) outgrow(open);
    if (open === null && !mayMatter()) {
      release();
      emitText(partial);
      partial = "";
      passing = true;
    }
  }

  /** Whether the current line may become anything but text. */
  function mayMatter(): boolean {
    if (partial === "\n") return true;
    if (held.fence !== null) return partial.length <= limit;
    return prose === null ? mayOpen(partial) : partial.length <= HEAD_LIMIT && /^[`~]*$/.test(partial.trim());
  }

  function endLine(): void {
    const raw = partial;
    partial = "";
    lineNumber++;
    if (!passing) route(raw);
    passing = false;
  }

  function route(raw: string): void {
    if (open !== null) feed(open, raw);
    else if (prose !== null) {
      if (stray && openInner(raw, prose)) {
        prose = null;
        return route(raw);
      }
      if (closesFence(raw, prose)) prose = null;
      emitText(raw);
    } else if (held.fence === null && wrapper !== null && closesFence(raw, wrapper)) {
      release();
      // The end of a fence that opened as text is text too.
      if (shown === null) between.skip();
      else emitText(raw);
      ended = wrapper;
      wrapper = shown = null;
    } else if (held.fence !== null && raw.replace(/\n$/, "").length > limit) {
      release();
      route(raw);
    } else if (held === NOTHING && raw === "\n") emitText(raw);
    else if (tryOpen(raw, false) || mayHold(raw) || tryOpen(raw, true)) {
      return;
    } else if (held === NOTHING) emitText(raw);
    else {
      release();
      route(raw);
    }
  }

  function tryOpen(raw: string, settled: boolean): boolean {
    openBlock(raw, settled);
    if (open === null) return false;
    feed(open, raw, true);
    return true;
  }

  /** Opens the block whose head ends with this line, if there is one; the line is still to be fed to it. */
  function openBlock(raw: string, settled: boolean): void {
    const { raws, path, innerPath, fence } = held;
    if (fence === null && !MARKS.test(raw)) return;
    const around = fence ?? wrapper;
    const head: Head = {
      line: outdent(chomp(raw), around),
      before: outdent(chomp(raws.findLast((raw) => raw.trim() !== "") ?? ""), around),
      path,
      innerPath,
      fence: around && { ...around, indent: "" },
      atFenceStart: fence !== null,
      settled,
      previousPath: between.paths.path,
      previousFormat: between.format,
      defaultPath: between.paths.doubtful ? null : (options.path ?? null),
    };
    for (const format of formats) {
      const block = format.open(head);
      if (block === null) continue;
      open = {
        block,
        format: format.name,
        edit: edits,
        firstLine: lineNumber - raws.length,
        fence: around,
        start: raws.length,
        raws: [...raws],
        size: raws.join("").length,
        maybe: [],
        heldSize: 0,
        path: null,
        told: -1,
      };
      between.open(block);
      if (!block.ownsFence) wrapper = around;
      shown = null;
      held = NOTHING;
      if (!block.tentative) tell(open, emit);
      return;
    }
  }

  function mayHold(raw: string): boolean {
    const more = hold(held, raw, ended);
    held = more ?? held;
    return more !== null;
  }

  /** Emits the held lines as text. */
  function release(): void {
    const { raws, fence, path } = held;
    isExample = path === null;
    stray = held.stray;
    held = NOTHING;
    // A fence of a diff may begin with prose, or with lines that a tool writes above the header.
    if (fence !== null && DIFF.test(fence.info)) shown = wrapper = fence;
    // What a tag holds is no code that could show a block.
    else if (fence !== null && fence.length > 0) prose = fence;
    raws.forEach(emitText);
  }

  function feed(current: OpenBlock, raw: string, opening = false): void {
    if (current.raws !== null && current.size + raw.length > limit) outgrow(current);
    if (open === null) return route(raw);
    if (current.raws === null && raw.length > HEAD_LIMIT) return;
    const { block } = current;
    const taken = block.take(lineOf(raw, current.fence), opening);
    if (taken === "maybe") {
      current.maybe.push(raw);
      current.heldSize += raw.length;
      if (current.raws !== null && current.size + current.heldSize > limit) outgrow(current);
      return;
    }
    const held = current.maybe;
    // The most common case, so it builds no list.
    if (taken === "more" && held.length === 0) return keep(current, raw);
    current.maybe = [];
    current.heldSize = 0;
    const kept = taken === "past" ? (block.kept ?? 0) : held.length;
    keep(current, ...held.slice(0, kept));
    if (taken !== "past") keep(current, raw);
    if (taken === "text") giveUp(current);
    else if (taken !== "more") {
      const pending = taken === "past" ? [...held.slice(kept), raw] : [];
      closeBlock(current, "closed", emit);
      open = null;
      edits++;
      between.close(block, current.format, lineNumber - pending.length);
      between.paths.meet(block.path);
      routeAgain(pending);
    }
  }

  /** Adds lines to the block. */
  function keep(current: OpenBlock, ...lines: readonly string[]): void {
    if (current.raws === null) return;
    for (const each of lines) {
      current.raws.push(each);
      current.size += each.length;
    }
    if (!current.block.tentative) tell(current, emit);
  }

  function outgrow(current: OpenBlock): void {
    if (current.block.tentative) giveUp(current);
    else overflow(current, limit, emit);
  }

  /** Treats the lines as a code fence of the prose, which the last one may have closed. */
  function giveUp({ raws, fence }: OpenBlock): void {
    open = null;
    prose = fence !== null && closesFence(raws!.at(-1) ?? "", fence) ? null : fence;
    raws!.forEach(emitText);
  }
}

/** What a line begins with that opens a block, unless a fence is right above it. */
const MARKS = /^\s*[*<>@`~+d-]/;
