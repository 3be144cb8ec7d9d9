import type { Entry } from "@parlance/server/resume";
import type { Calls } from "./calls.js";
import { RedisStoreError } from "./error.js";
import { following, type Inbox, makeInbox } from "./inbox.js";
import type { StreamScripts } from "./streams.js";
import type { Subscriptions } from "./subscriptions.js";

/** Maximum entries of one read. */
const PAGE = 1000;
/** Milliseconds by which a drop's notice may arrive after a read's answer. */
const NOTICE = 1000;

export interface TailOptions {
  readonly calls: Calls;
  readonly scripts: StreamScripts;
  readonly subscriptions: Subscriptions;
  readonly lease: number;
  /** The functions that end each tail. */
  readonly tails: Set<() => void>;
}

/** The position of a tail in its stream. */
interface Position {
  at: number;
  epoch: string | undefined;
  /** The highest sequence known to have existed. */
  proven: number;
}

/** Follows a stream: wake-ups carry the new entries, and an entry that they do not carry is read by its number. */
export async function* followStream(
  { calls, scripts, subscriptions, lease, tails }: TailOptions,
  stream: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<readonly Entry[]> {
  if (signal.aborted) return;
  const inbox = makeInbox();
  const waits = makeWaits(calls, signal);
  const position: Position = { at: after, epoch: undefined, proven: 0 };
  const isDropped = () => inbox.dropped(position.epoch!);
  const { ready, unsubscribe } = subscriptions.subscribe(scripts.channel(stream), {
    receive(text) {
      inbox.put(text);
      waits.wake();
    },
    onInterrupted() {
      inbox.doubt();
      waits.wake();
    },
  });
  const release = () => {
    waits.close();
    tails.delete(release);
    unsubscribe();
  };
  tails.add(release);
  try {
    await waits.unlessOver(ready);
    while (!waits.over()) {
      let entries = inbox.take(position.at);
      // A killed writer sends no wake-up, so its lease is polled.
      if (entries.length === 0 && inbox.sure() && (await waits.wakened(lease / 2)) === "late") inbox.doubt();
      if (entries.length === 0 && !inbox.sure() && !waits.over()) {
        inbox.setSure(true);
        const found = await waits.unlessOver(readNext(scripts, stream, position, inbox));
        if (found === "vanished") {
          const until = performance.now() + NOTICE;
          for (let left = NOTICE; left > 0 && !isDropped() && !waits.over(); left = until - performance.now())
            await waits.wakened(left);
          if (isDropped() || waits.over()) break;
          throw lost(stream, position.at);
        }
        if (!found) break;
        entries = found;
      }
      if (entries.length === 0) continue;
      position.at = entries.at(-1)!.seq;
      position.proven = Math.max(position.proven, position.at);
      yield entries;
    }
    if (calls.stopped && !signal.aborted)
      throw new RedisStoreError("stopped", `stop() was called while ${stream} was read`);
  } finally {
    release();
  }
}

/** The waits of one tail, which end at once when it is aborted or its log stopped. */
function makeWaits(calls: Calls, signal: AbortSignal) {
  let wake = () => {};
  const over = () => signal.aborted || calls.stopped;
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    over,
    wake: () => wake(),
    /** Settles with the promise, or with undefined once the tail is over. */
    unlessOver: <T>(promise: Promise<T>) =>
      new Promise<T | undefined>((resolve, reject) => {
        wake = () => over() && resolve(undefined);
        promise.then(resolve, reject);
      }),
    /** Resolves at the next wake-up, or after a number of milliseconds. */
    wakened: (milliseconds: number) =>
      new Promise<"woken" | "late">((resolve) => {
        const cancel = calls.after(milliseconds, () => resolve("late"));
        wake = () => {
          cancel();
          resolve("woken");
        };
      }),
    close() {
      signal.removeEventListener("abort", onAbort);
      wake();
    },
  };
}

/**
 * Reads the entries after a position; undefined when no more will come, `vanished` when the stream no longer exists.
 * @throws {RedisStoreError} `entries_lost` when the next entry existed and is not held
 */
async function readNext(
  scripts: StreamScripts,
  stream: string,
  position: Position,
  inbox: Inbox,
): Promise<readonly Entry[] | "vanished" | undefined> {
  const { at, epoch, proven } = position;
  const found = await scripts.look(stream, at, PAGE);
  if (!found && epoch === undefined) return undefined;
  if (!found || (epoch ?? found.epoch) !== found.epoch) return "vanished";
  if (found.last < proven) throw lost(stream, at);
  position.epoch = found.epoch;
  position.proven = found.last;
  inbox.expect(found.epoch);
  const first = found.entries[0]?.seq ?? found.last + 1;
  if (first > at + 1)
    throw new RedisStoreError("entries_lost", `entries ${at + 1} to ${first - 1} of ${stream} are gone`);
  if (found.entries.length === 0) return found.closed ? undefined : [];
  // There may be more than one page.
  inbox.setSure(false);
  return following(found.entries, at);
}

function lost(stream: string, at: number): RedisStoreError {
  return new RedisStoreError("entries_lost", `Redis has lost entries of ${stream}; entry ${at} was the last one read`);
}
