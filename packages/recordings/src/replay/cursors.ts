import { formatCursor, parseCursor, parseResumable, RESUME, type Resumable } from "@parlance/wire";
import { type HeaderList, headerOf } from "../recording.js";

/** The positions in the live server's streams and channels that stand for the recorded ones: event ids, and Parlance's epochs. */
export class Cursors {
  readonly #ids = new Map<string, string>();
  readonly #epochs = new Map<string, string>();

  /** An answer names the epoch of its stream or channel. */
  answer(recorded: HeaderList, came: Headers): void {
    const old = parseResumable(headerOf(recorded, RESUME.toLowerCase()) ?? null);
    const now = parseResumable(came.get(RESUME));
    this.announced(old, now);
  }

  /** A stream or channel has its epoch, recorded and live. */
  announced(old: Resumable | undefined, now: Resumable | undefined): void {
    if (old && now) this.#epochs.set(old.epoch, now.epoch);
  }

  event(recorded: string | undefined, came: string | undefined): void {
    if (recorded !== undefined && came !== undefined) this.#ids.set(recorded, came);
  }

  /** The live value of a recorded `Last-Event-ID`. */
  rewrite(id: string): string {
    const cursor = parseCursor(id);
    const epoch = cursor && this.#epochs.get(cursor.epoch);
    return this.#ids.get(id) ?? (epoch === undefined ? id : formatCursor({ epoch, seq: cursor!.seq }));
  }
}
