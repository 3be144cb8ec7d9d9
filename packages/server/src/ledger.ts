import { Refusal } from "@parlance/wire";
import type { Pace } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import { ANYBODY } from "./identity.js";
import { type Limits, paceOf } from "./limits.js";
import { revoked } from "./reason.js";

/** What an owner holds a number of. */
export type Counted = "stream" | "reader" | "call" | "session" | "ask";

/** A part of what an owner holds, which changes in size. Zero again when its scope closes. */
export interface Tally {
  /** Changes the size. Throws `Refusal` where the owner, or all together, would then hold too much: for what arrives. */
  add(size: number): void;
  /** Notes the size of what is queued. Refuses nothing: see `allowance`. */
  set(size: number): void;
  /** Counts it until this scope closes, in place of the one before. */
  moveTo(scope: Scope): void;
}

/** The right of one handler to run. */
export interface Turn {
  /** Resolves when the handler may run; undefined where it may at once. */
  readonly comes: Promise<void> | undefined;
  /** Gives the turn to the next handler, or leaves the line. */
  end(): void;
}

/**
 * Counts what each principal holds in this server, limits it, and ends it. Everything that outlives a tick is counted here, or is bounded by
 * something that is: the list is in docs/limits.md.
 */
export interface Ledger {
  /** Counts one until the scope closes. Throws `Refusal`: 429 at the owner's limit, 503 at that of all. */
  take(owner: string, of: Counted, scope: Scope): void;
  /** Asks for the turn of an operation's handler; undefined where none is needed, because the owner is unknown. */
  turn(owner: string): Turn | undefined;
  /** Bytes of requests whose handlers are not done. */
  received(owner: string, scope: Scope): Tally;
  /**
   * Throws `Refusal` where the owner, or all together, have so much in answers that their readers have not taken that no more may be made. One
   * answer at a time always fits.
   */
  assertRoom(owner: () => string, handler: "to come" | "done"): void;
  /** Counts the characters of an answer until its call closes. */
  answer(owner: string, size: number, call: Scope): void;
  /** Characters queued or kept for readers. */
  held(owner: string, scope: Scope): Tally;
  /** How many characters one queue of the owner may hold now: its own limit, or a fair share once all its queues hold too much. */
  allowance(owner: string, limit: number): number;
  /** How far a sender to the owner may be ahead. */
  pace(owner: string): Pace;
  /** Calls `end` when the owner is revoked, unless the scope closes first. */
  hold(owner: string, scope: Scope, end: (reason: unknown) => unknown): void;
  /** Ends everything that an owner holds. */
  revoke(owner: string): void;
}

/** The least share of a queue, so that one message at a time always fits. Answers up to it are limited by the number of calls alone. */
export const MIN_SHARE = 16 * 1024;

/** What one owner holds, or all together. */
class Account {
  readonly counts = { stream: 0, reader: 0, call: 0, session: 0, ask: 0 };
  readonly sizes = { received: 0, answers: 0, held: 0 };
  /** Tallies, and those of them that share `held`. */
  tallies = 0;
  queues = 0;
  readonly ends = new Set<(reason: unknown) => unknown>();
  /** Handlers of operations that run, and what starts those that wait for their turn, in order. */
  running = 0;
  readonly waiting = new Set<() => void>();

  get isEmpty(): boolean {
    const { counts, ends, running, tallies } = this;
    return (
      running + tallies + ends.size + counts.stream + counts.reader + counts.call + counts.session + counts.ask === 0
    );
  }
}

export function ledger(limits: Limits, root: Scope): Ledger {
  return new OwnerLedger(limits, root);
}

class OwnerLedger implements Ledger {
  readonly #limits: Limits;
  readonly #accounts = new Map<string, Account>();
  readonly #all = new Account();
  readonly #bounds: Record<Counted, Bound>;

  constructor(limits: Limits, root: Scope) {
    this.#limits = limits;
    this.#bounds = boundsOf(limits);
    root.measure("received", () => this.#all.sizes.received);
    root.measure("held", () => this.#all.sizes.held + this.#all.sizes.answers);
  }

  take(owner: string, of: Counted, scope: Scope): void {
    if (scope.closed) return;
    const { own, total, what } = this.#bounds[of];
    if (owner !== ANYBODY && (this.#accounts.get(owner)?.counts[of] ?? 0) >= own.most)
      throw full(`no more than ${own.most} ${what} at a time`, own.option, 429);
    if (this.#all.counts[of] >= total.most)
      throw full(`no more than ${total.most} ${what} at a time by all`, total.option, 503);
    const accounts = [this.#accountOf(owner), this.#all];
    for (const { counts } of accounts) counts[of]++;
    const isPlace = owner !== ANYBODY && (of === "stream" || of === "reader");
    const giveBack = (): void => {
      for (const { counts } of accounts) counts[of]--;
      this.#settle(owner);
    };
    scope.add(giveBack, isPlace ? "places" : undefined);
  }

  turn(owner: string): Turn | undefined {
    if (owner === ANYBODY) return undefined;
    const account = this.#accountOf(owner);
    const { waiting } = account;
    let start: (() => void) | undefined;
    let comes: Promise<void> | undefined;
    if (account.running < (this.#limits.maxHandlers || Number.POSITIVE_INFINITY)) account.running++;
    else
      comes = new Promise((resolve) => {
        start = resolve;
        waiting.add(resolve);
      });
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      if (start && waiting.delete(start)) return;
      const [next] = waiting;
      if (!next) account.running--;
      else {
        waiting.delete(next);
        next();
      }
      this.#settle(owner);
    };
    return { comes, end };
  }

  received(owner: string, scope: Scope): Tally {
    const { maxReceived, maxTotalReceived } = this.#limits;
    const account = this.#accountOf(owner);
    return this.#tally(owner, "received", scope, (more) => {
      if (owner !== ANYBODY && account.sizes.received + more > maxReceived)
        throw full(`requests of one principal hold no more than ${maxReceived} bytes`, "maxReceived", 429);
      if (this.#all.sizes.received + more > maxTotalReceived)
        throw full(`requests hold no more than ${maxTotalReceived} bytes`, "maxTotalReceived", 503);
    });
  }

  assertRoom(owner: () => string, handler: "to come" | "done"): void {
    const { maxHeld, maxTotalHeld } = this.#limits;
    const { answers } = this.#all.sizes;
    if (answers < maxHeld && answers < maxTotalHeld) return;
    // A call whose handler is done is not to be sent again: it would repeat what the handler did.
    const isRepeatable = handler === "to come";
    const own = owner();
    if (own !== ANYBODY && (this.#accounts.get(own)?.sizes.answers ?? 0) >= maxHeld)
      throw full(
        `unread answers to one principal hold no more than ${maxHeld} characters`,
        "maxHeld",
        429,
        isRepeatable,
      );
    if (answers >= maxTotalHeld)
      throw full(`unread answers hold no more than ${maxTotalHeld} characters`, "maxTotalHeld", 503, isRepeatable);
  }

  answer(owner: string, size: number, call: Scope): void {
    this.#tally(owner, "answers", call, () => {}).set(size);
  }

  held(owner: string, scope: Scope): Tally {
    return this.#tally(owner, "held", scope, () => {});
  }

  allowance(owner: string, limit: number): number {
    const { maxHeld, maxTotalHeld } = this.#limits;
    let allowed = limit;
    const account = owner === ANYBODY ? undefined : this.#accounts.get(owner);
    if (account && account.sizes.held > maxHeld) allowed = Math.min(allowed, maxHeld / account.queues);
    if (this.#all.sizes.held > maxTotalHeld) allowed = Math.min(allowed, maxTotalHeld / this.#all.queues);
    return Math.min(limit, Math.max(MIN_SHARE, allowed));
  }

  pace(owner: string): Pace {
    const { room, most, stall } = paceOf(this.#limits);
    const allowance = (limit: number) => this.allowance(owner, limit);
    return {
      stall,
      get room() {
        return allowance(room);
      },
      get most() {
        return allowance(most);
      },
    };
  }

  hold(owner: string, scope: Scope, end: (reason: unknown) => unknown): void {
    if (scope.closed) return;
    const { ends } = this.#accountOf(owner);
    const own = (reason: unknown) => end(reason);
    ends.add(own);
    scope.add(() => {
      ends.delete(own);
      this.#settle(owner);
    });
  }

  revoke(owner: string): void {
    for (const end of [...(this.#accounts.get(owner)?.ends ?? [])]) end(revoked());
  }

  #accountOf(owner: string): Account {
    const account = this.#accounts.get(owner) ?? new Account();
    this.#accounts.set(owner, account);
    return account;
  }

  /** Forgets an owner that holds nothing. */
  #settle(owner: string): void {
    if (this.#accounts.get(owner)?.isEmpty) this.#accounts.delete(owner);
  }

  /** `check` throws for what would be too much. */
  #tally(owner: string, of: keyof Account["sizes"], scope: Scope, check: (more: number) => void): Tally {
    const accounts = [this.#accountOf(owner), this.#all];
    let size = 0;
    let open = true;
    let current = scope;
    const count = (by: 1 | -1): void => {
      for (const account of accounts) {
        account.tallies += by;
        if (of === "held") account.queues += by;
      }
    };
    count(1);
    const set = (next: number): void => {
      if (!open) return;
      for (const { sizes } of accounts) sizes[of] += next - size;
      size = next;
    };
    const moveTo = (to: Scope): void => {
      current = to;
      to.add(() => {
        if (!open || current !== to) return;
        set(0);
        open = false;
        count(-1);
        this.#settle(owner);
      });
    };
    moveTo(scope);
    return {
      set,
      moveTo,
      add(more) {
        if (open && more > 0) check(more);
        set(size + more);
      },
    };
  }
}

function boundsOf(limits: Limits): Record<Counted, Bound> {
  const { maxStreams, maxTotalStreams, maxCalls, maxSessions, maxTotalSessions, maxAsks, maxTotalAsks } = limits;
  const bound = (what: string, own: number, option: string, most: number, totalOption = ""): Bound => ({
    what,
    own: { most: own, option },
    total: { most, option: totalOption },
  });
  return {
    stream: bound("streams may be open", maxStreams, "maxStreams", maxTotalStreams, "maxTotalStreams"),
    // A reader that was cut may join again before the server has noticed the cut.
    reader: bound("readers may be open", 2 * maxStreams, "maxStreams", 2 * maxTotalStreams, "maxTotalStreams"),
    call: bound("calls may be open", maxCalls, "maxCalls", Number.POSITIVE_INFINITY),
    session: bound("sessions may be kept", maxSessions, "maxSessions", maxTotalSessions, "maxTotalSessions"),
    ask: bound("asks may be open", maxAsks, "maxAsks", maxTotalAsks, "maxTotalAsks"),
  };
}

interface Bound {
  readonly what: string;
  readonly own: { readonly most: number; readonly option: string };
  readonly total: { readonly most: number; readonly option: string };
}

function full(what: string, option: string, status: 429 | 503, isRepeatable = true): Refusal {
  return new Refusal(`${what} (option ${option})`, { status, ...(isRepeatable && { retryAfter: 1 }) });
}

/** Bytes that a value of JSON takes at least, beside its text: an array or object, and its place in another one. */
const VALUE = 24;

/**
 * Estimates the memory of a parsed JSON text, in bytes. Small values take twenty times as much as their text: a megabyte of `[{},{},…]`
 * would take twenty.
 */
export function weigh(text: string): number {
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // [ and {, each value after a comma.
    if (code === 44 || code === 91 || code === 123) values++;
  }
  return text.length + VALUE * values;
}

/** Weighs a frame: its characters, unless its message takes more than four times as many bytes. */
export function weighFrame(text: string): number {
  return Math.max(text.length, Math.ceil(weigh(text) / 4));
}
