import { type Waiter, waiter } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";

/** Characters taken before credit is sent in its own packet. Less than the other end sends without new credit. */
const TOLD = 64 * 1024;

/** Flow control of one end of a tunnel: counts characters sent, received and taken. */
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

  /** Characters sent that the other end has not taken yet. */
  get owed(): number {
    return this.#given - this.#taken;
  }

  give(frame: string): void {
    this.#given += frame.length;
  }

  /** `taken` counts this end's characters that the other end has taken since the beginning. */
  receive(frames: readonly string[], taken: number): void {
    this.#taken = Math.max(this.#taken, taken);
    for (const frame of frames) this.#came += frame.length;
  }

  /** Notes that everything received was taken. */
  take(): void {
    this.#took = this.#came;
  }

  /** Whether credit should be sent to the other end. */
  get due(): boolean {
    return this.#took - this.#told >= this.#step;
  }

  /** The credit to send; empty where the other end has it already. */
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

  /** `onStalled` is called after `stall` milliseconds without progress. */
  constructor(scope: Scope, isOpen: () => boolean, stall: number, onStalled: () => void) {
    this.#scope = scope;
    this.#isOpen = isOpen;
    this.#stall = stall;
    this.#onStalled = onStalled;
    scope.add(() => this.progress());
  }

  /** Waits for room; undefined where there is room already. */
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
