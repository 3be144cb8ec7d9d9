import { decoder, encode, type SseEvent } from "@parlance/wire";
import type { Happening } from "./recording.js";

/** One block of an event stream: the text up to and with its blank line, and the event in it. */
export interface Block {
  readonly raw: string;
  readonly event?: SseEvent | undefined;
  /** The fields give the same bytes as the block, so that `raw` is not needed. */
  readonly isUsual: boolean;
}

/** Cuts the text of an event stream into blocks; a line ends with CR, LF or both. Joined, the blocks are the text again. */
export class Blocks {
  readonly #maxSize: number;
  readonly #onBlock: (block: Block) => void;
  readonly #onTooLarge: (size: number) => void;
  readonly #pieces: string[] = [];
  #size = 0;
  #emptyLine = true;
  #afterCr = false;
  #first = true;

  constructor(maxSize: number, onBlock: (block: Block) => void, onTooLarge: (size: number) => void) {
    this.#maxSize = maxSize;
    this.#onBlock = onBlock;
    this.#onTooLarge = onTooLarge;
  }

  push(text: string): void {
    let from = 0;
    let at = 0;
    if (this.#afterCr && text.startsWith("\n")) at = 1;
    if (text !== "") this.#afterCr = false;
    while (at < text.length) {
      const end = nextLineEnd(text, at);
      if (end < 0) {
        this.#emptyLine = false;
        break;
      }
      const empty = this.#emptyLine && end === at;
      const isCr = text.charCodeAt(end) === 13;
      at = end + (isCr && text.charCodeAt(end + 1) === 10 ? 2 : 1);
      if (isCr && at === text.length && text.charCodeAt(end + 1) !== 10) this.#afterCr = true;
      this.#emptyLine = true;
      if (!empty) continue;
      this.#hold(text.slice(from, at));
      from = at;
      this.#emit();
    }
    this.#hold(text.slice(from));
  }

  /** Reports the rest, which has no blank line after it. */
  end(): void {
    this.#emit();
  }

  #hold(text: string): void {
    if (text === "") return;
    this.#size += text.length;
    // Beyond the limit only the size is counted.
    if (this.#size <= this.#maxSize) this.#pieces.push(text);
    else this.#pieces.length = 0;
  }

  #emit(): void {
    const size = this.#size;
    const raw = this.#pieces.join("");
    this.#pieces.length = 0;
    this.#size = 0;
    if (size > this.#maxSize) return this.#onTooLarge(size);
    if (size === 0) return;
    const usual = usualEvent(raw);
    const event = usual ?? eventIn(this.#first ? raw.replace(/^\uFEFF/, "") : raw);
    this.#first = false;
    this.#onBlock(event ? { raw, event, isUsual: event === usual || givesBytes(event, raw) } : { raw, isUsual: false });
  }
}

function nextLineEnd(text: string, from: number): number {
  const lf = text.indexOf("\n", from);
  const cr = text.indexOf("\r", from);
  return cr < 0 ? lf : lf < 0 ? cr : Math.min(cr, lf);
}

/** A block as most servers write it, which needs no decoder. */
const USUAL = /^(?:event: ([^\r\n\0]+)\n)?(?:id: ([^\r\n\0]+)\n)?data: ([^\r\n\0]*)\n\n$/;

function usualEvent(raw: string): SseEvent | undefined {
  const usual = USUAL.exec(raw);
  return usual ? eventOf(usual[1], usual[2], usual[3]!) : undefined;
}

function eventOf(event: string | undefined, id: string | undefined, data: string): SseEvent {
  if (id === undefined) return event === undefined ? { data } : { event, data };
  return event === undefined ? { id, data } : { event, id, data };
}

/** The event of one block, with the id that the block itself names. */
export function eventIn(raw: string): SseEvent | undefined {
  let found: SseEvent | undefined;
  const onEvent = (event: SseEvent) => {
    found = eventOf(event.event, event.id, event.data);
  };
  decoder({ onEvent, onTooLarge() {}, maxSize: raw.length }).push(raw);
  return found;
}

/** The bytes of an event or block as they were sent. */
export function rawOf({ event, id, text = "", raw }: Omit<Extract<Happening, { kind: "event" }>, "kind">): string {
  return raw ?? encode({ event, id, data: text });
}

function givesBytes(event: SseEvent, raw: string): boolean {
  return !/[\r\0]/.test(`${event.event}${event.id}${event.data}`) && encode(event) === raw;
}
