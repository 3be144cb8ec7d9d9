import { type Waiter, waiter } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";

/** Characters that are taken before the other end gets credit, in a packet of its own. Less than it sends at a time without new credit. */
const TOLD = 64 * 1024;

/** Characters that went into one end of a tunnel and came out of it, and how many of them there was room for. */
export class Credit {
  readonly #step: number;
  #given = 0;
  #taken = 0;
  #came = 0;
  #took = 0;
  #told = 0;

  constructor(maxQueued: number) {
    this.#step = Math.min(TOLD, maxQueued / 4);
  }

  /** Characters that were sent, and that the other end has no room for yet. */
  get owed(): number {
    return this.#given - this.#taken;
  }

  give(frame: string): void {
    this.#given += frame.length;
  }

  /** `taken` is how many of this end's characters the other has had room for, since the beginning. */
  receive(frames: readonly string[], taken: number): void {
    this.#taken = Math.max(this.#taken, taken);
    for (const frame of frames) this.#came += frame.length;
  }

  /** There is room for all that has come. */
  take(): void {
    this.#took = this.#came;
  }

  /** The other end should be told. */
  get due(): boolean {
    return this.#took - this.#told >= this.#step;
  }

  /** What the other end is to be told, if it does not know. */
  tell(): { readonly taken?: number } {
    if (this.#took === this.#told) return {};
    this.#told = this.#took;
    return { taken: this.#took };
  }
}

/** A wait for room, which ends with its scope. */
export class Gate {
  readonly #scope: Scope;
  readonly #isOpen: () => boolean;
  readonly #stall: number;
  readonly #onStalled: () => void;
  #waiter: Waiter | undefined;
  #stop = (): void => {};

  /** `onStalled` is called when there is no progress for so long. */
  constructor(scope: Scope, isOpen: () => boolean, stall: number, onStalled: () => void) {
    this.#scope = scope;
    this.#isOpen = isOpen;
    this.#stall = stall;
    this.#onStalled = onStalled;
    scope.add(() => this.progress());
  }

  /** Pending until there is room; undefined where there is. */
  wait(): Promise<void> | undefined {
    if (this.#scope.closed || this.#isOpen()) return undefined;
    if (!this.#waiter) {
      this.#waiter = waiter();
      this.#watch();
    }
    return this.#waiter.promise;
  }

  progress(): void {
    this.#stop();
    if (!this.#waiter) return;
    if (!this.#scope.closed && !this.#isOpen()) return this.#watch();
    this.#waiter.resolve();
    this.#waiter = undefined;
  }

  #watch(): void {
    this.#stop = this.#scope.timeout(this.#stall, this.#onStalled);
  }
}
