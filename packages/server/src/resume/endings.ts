import type { Cursor } from "@parlance/wire";
import type { Limits } from "../limits.js";

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
