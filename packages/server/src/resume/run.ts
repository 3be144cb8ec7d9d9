import type { Scope } from "@parlance/wire/scope";
import type { Called } from "../hooks.js";
import type { Production } from "../ports.js";
import type { EventWriter } from "./event-log.js";

/** A reader that has every message so far, and gets new ones without the log. */
export interface Live {
  /** Returns false without room: the reader then reads the log again. */
  take(blocks: readonly string[], last: number): boolean;
  detach(): void;
}

/** A stream that runs here, or has run and is kept for its readers. */
export interface Run {
  readonly name: string;
  /** Without its input and request, which may be large, once the handler is done. */
  called: Pick<Called, "operation">;
  /** Until its entries are dropped. */
  readonly life: Scope;
  /** Until its handler is done. */
  readonly handler: Scope;
  /** Settles when the log has opened it. */
  readonly opened: Promise<EventWriter | undefined>;
  readonly readers: Set<Scope>;
  readonly live: Set<Live>;
  /** How far each connected reader is: those here, and those of other servers by their ids. */
  readonly places: Set<{ readonly taken: number }>;
  readonly distant: Map<string, DistantReader>;
  /** Whether the log stores entries at once, so that readers need not wait for it. */
  keepsAtOnce: boolean;
  /** The last place that was written, and the last one that the furthest reader has. */
  last: number;
  delivered: number;
  /** Characters of each entry between the two, oldest first, and their sum. */
  readonly sizes: number[];
  ahead: number;
  /** Ends the producer's wait for its readers. */
  wake: () => void;
  production?: Production | undefined;
  /** Settles with the first message, or when headers are due before it; rejects with what the handler refuses with. */
  readonly begun: Promise<void>;
  readonly begin: (refusal?: unknown) => void;
  /** Whether the log failed to close the stream. */
  lost: boolean;
  stopWaiting: () => void;
  /** Discards the log's entries when the life ends. */
  discard: () => unknown;
}

/** A reader of another server, which counts as connected for as long as its server says so. */
interface DistantReader {
  readonly taken: number;
  /** Cancels the timer that forgets it. */
  readonly forget: () => void;
}

/** The last entry that every connected reader has been given. Infinite without a reader. */
export function givenOf({ places, distant }: Run): number {
  let given = Number.POSITIVE_INFINITY;
  for (const { taken } of places) given = Math.min(given, taken);
  for (const { taken } of distant.values()) given = Math.min(given, taken);
  return given;
}

/** A run whose log is not opened yet; `opened` settles that. */
export function newRun(
  name: string,
  called: Called,
  root: Scope,
): { run: Run; opened: (writer: EventWriter | undefined) => void } {
  let opened!: (writer: EventWriter | undefined) => void;
  const opening = new Promise<EventWriter | undefined>((resolve) => {
    opened = resolve;
  });
  let begin!: (refusal?: unknown) => void;
  const begun = new Promise<void>((resolve, reject) => {
    begin = (refusal) => (refusal === undefined ? resolve() : reject(refusal));
  });
  // Only a copy of the request waits for it.
  begun.catch(() => {});
  const life = root.child();
  life.add(() => begin());
  const run: Run = {
    name,
    called,
    life,
    handler: life.child("streams"),
    opened: opening,
    readers: new Set(),
    live: new Set(),
    places: new Set(),
    distant: new Map(),
    keepsAtOnce: false,
    last: 0,
    delivered: 0,
    sizes: [],
    ahead: 0,
    begun,
    begin,
    wake: () => {},
    lost: false,
    stopWaiting: () => {},
    discard: () => {},
  };
  return { run, opened };
}
