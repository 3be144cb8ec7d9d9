import type { Cursor } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { ANYBODY, ownerIn } from "../identity.js";
import type { Limits } from "../limits.js";
import type { EventWriter } from "./event-log.js";
import type { Run } from "./run.js";

/**
 * Reserves the names of cancelled streams for a time, so that a copy of a request, or one that comes after its cancel, does not begin the
 * stream. The oldest go first.
 */
export interface Tombstones {
  /** Closes a stream, forgets its entries up to `last`, and drops it later. Rejects where the log cannot be told. */
  mark(writer: EventWriter, last: number): Promise<void>;
}

export function tombstones({ tombstoneLife, maxTombstones }: Limits, root: Scope): Tombstones {
  const scopes = new Set<Scope>();
  root.measure("tombstones", () => scopes.size);
  return {
    async mark(writer, last) {
      const scope = root.child();
      scopes.add(scope);
      scope.add(() => {
        scopes.delete(scope);
        return writer.drop();
      });
      scope.timeout(tombstoneLife, () => scope.close());
      if (scopes.size > maxTombstones) scopes.values().next().value?.close();
      await writer.close();
      await writer.trim(last);
    },
  };
}

/**
 * Keeps the names of dropped streams, so that a request that is sent again later does not begin one a second time. The oldest go first
 * above `most`.
 */
export interface OverNames {
  add(name: string): void;
  has(name: string): boolean;
}

export function overNames(most: number): OverNames {
  const names = new Set<string>();
  return {
    add(name) {
      names.add(name);
      if (names.size > most) names.delete(names.values().next().value!);
    },
    has: (name) => names.has(name),
  };
}

/** A conversation that its client has closed. */
export interface Ended {
  readonly epoch: string;
  /** Frames that were received, and frames that were sent. */
  readonly received: number;
  readonly sent: number;
  /** The digest of the last ticket that was given for it. */
  ticket?: string;
}

/** Keeps closed conversations, so that a lost close confirmation can be repeated. The oldest go first. */
export interface Endings {
  note(name: string, ended: Ended): void;
  /** Returns undefined where the client lacks frames, because they are no longer held. */
  find(name: string, cursor: Cursor | undefined): Ended | undefined;
}

/** `onForgotten` gets each one that is forgotten. */
export function endings({ maxTombstones, grace }: Limits, onForgotten: (ended: Ended) => void): Endings {
  const all = new Map<string, Ended & { readonly expires: number }>();
  return {
    note(name, ended) {
      all.set(name, { ...ended, expires: Date.now() + grace });
      for (const [oldest, { expires }] of all) {
        if (all.size <= maxTombstones && expires > Date.now()) break;
        onForgotten(all.get(oldest)!);
        all.delete(oldest);
      }
    },
    find(name, cursor) {
      const ended = all.get(name);
      if (!ended || ended.expires < Date.now()) return undefined;
      return cursor?.epoch === ended.epoch && cursor.seq === ended.sent ? ended : undefined;
    },
  };
}

/** Finished streams that are kept for readers that may come back. Those of a principal, or of all, above their limits go, oldest first. */
export interface FinishedRuns {
  /** Takes one whose handler is done, and lets go of what its request held. */
  add(run: Run): void;
}

/** `drop` forgets a stream, whose readers are shown a gap then. */
export function finishedRuns({ maxFinished, maxTotalFinished }: Limits, drop: (run: Run) => void): FinishedRuns {
  const all = new Set<Run>();
  const owned = new Map<string, Set<Run>>();
  /** One that is read is kept for its reader. */
  const dropOldest = (runs: ReadonlySet<Run>): void => {
    for (const run of runs) if (run.readers.size === 0) return drop(run);
  };
  return {
    add(run) {
      if (run.life.closed) return;
      const owner = ownerIn(run.name);
      const own = owned.get(owner) ?? new Set();
      owned.set(owner, own.add(run));
      all.add(run);
      run.called = { operation: run.called.operation };
      run.production?.release();
      run.life.add(() => {
        all.delete(run);
        own.delete(run);
        if (own.size === 0) owned.delete(owner);
      }, "kept");
      if (owner !== ANYBODY && own.size > maxFinished) dropOldest(own);
      else if (all.size > maxTotalFinished) dropOldest(all);
    },
  };
}
