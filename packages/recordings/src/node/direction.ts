import type { Readable } from "node:stream";
import { type Cutter, cutChunks, headSize, payloadSize } from "./cutter.js";

/** One direction of a connection that passes a proxy. A tool may hold, slow, repeat or spoil what passes. */
export class Direction {
  #cut: Cutter = cutChunks;
  #isSocket = false;
  #source: Readable | undefined;
  #write: ((bytes: Buffer) => void) | undefined;
  /** What happens to the next whole message. */
  #next: "duplicate" | "malformed" | undefined;
  /** The parts of a message that is spoilt when it is whole. */
  #held: Buffer[] = [];
  #inMessage = false;
  /** Messages of the tool, which wait for the end of the one that passes. */
  #waiting: Buffer[] = [];
  #stalled = false;
  #pause = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Stops what passes until `release`. The source waits. */
  stall(): void {
    this.#stalled = true;
    this.#source?.pause();
  }

  /** Ends a stall and slowness. */
  release(): void {
    this.#stalled = false;
    this.#pause = 0;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#source?.resume();
  }

  /** Waits so many milliseconds behind each chunk. */
  slow(milliseconds: number): void {
    this.#pause = milliseconds;
  }

  /** Sends the next whole message twice, or without its last character. */
  spoil(how: "duplicate" | "malformed"): void {
    this.#next = how;
  }

  /** Sends a message of the tool's own between two of the peer. Returns false where nothing can be sent yet. */
  inject(bytes: Buffer): boolean {
    if (!this.#write) return false;
    if (this.#inMessage) this.#waiting.push(bytes);
    else this.#write(bytes);
    return true;
  }

  /** @internal */
  attach(source: Readable, write: (bytes: Buffer) => void, cut: Cutter, isSocket: boolean): void {
    this.#source = source;
    this.#write = write;
    this.#cut = cut;
    this.#isSocket = isSocket;
    if (this.#stalled) source.pause();
  }

  /** Whether the source may go on when its sink has room again. @internal */
  get flowing(): boolean {
    return !this.#stalled && this.#timer === undefined;
  }

  /** @internal */
  pass(chunk: Buffer): void {
    const passing: Buffer[] = [];
    for (const { bytes, last, control } of this.#cut(chunk)) {
      if (control) {
        passing.push(bytes);
        continue;
      }
      const begins = !this.#inMessage;
      this.#inMessage = !last;
      if (this.#held.length > 0 || (this.#next && begins)) {
        this.#held.push(bytes);
        if (last) passing.push(...this.#spoilt());
      } else passing.push(bytes);
      if (last) passing.push(...this.#waiting.splice(0));
    }
    if (passing.length > 0) this.#write!(passing.length === 1 ? passing[0]! : Buffer.concat(passing));
    if (this.#pause === 0) return;
    this.#source?.pause();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (!this.#stalled) this.#source?.resume();
    }, this.#pause);
  }

  /** Sends what is left of a message that never became whole. @internal */
  end(): void {
    clearTimeout(this.#timer);
    if (this.#held.length > 0) this.#write!(Buffer.concat(this.#held.splice(0)));
  }

  #spoilt(): Buffer[] {
    const whole = Buffer.concat(this.#held.splice(0));
    const how = this.#next;
    this.#next = undefined;
    if (how === "duplicate") return [whole, whole];
    return [this.#isSocket ? malformedFrame(whole) : malformedText(whole)];
  }
}

/** Without the last character that is no line end. */
function malformedText(whole: Buffer): Buffer {
  let at = whole.length - 1;
  while (at > 0 && (whole[at] === 10 || whole[at] === 13)) at--;
  return Buffer.concat([whole.subarray(0, at), whole.subarray(at + 1)]);
}

/** With `!` as the last character of its last frame: the frame's size stays. */
function malformedFrame(whole: Buffer): Buffer {
  let at = 0;
  for (;;) {
    const head = whole.subarray(at);
    const next = at + headSize(head)! + payloadSize(head);
    if (next >= whole.length) break;
    at = next;
  }
  const spoilt = Buffer.from(whole);
  const head = whole.subarray(at);
  const size = payloadSize(head);
  if (size === 0) return spoilt;
  const payload = at + headSize(head)!;
  const mask = (head[1]! & 0x80) !== 0 ? whole[payload - 4 + ((size - 1) % 4)]! : 0;
  spoilt[payload + size - 1] = "!".charCodeAt(0) ^ mask;
  return spoilt;
}
