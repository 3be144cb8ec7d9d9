import type { Entry, LogState } from "@parlance/server/resume";
import type { Calls } from "./calls.js";
import { defineScript, type RedisClient } from "./client.js";
import type { RedisStoreError } from "./error.js";
import { APPEND, CLOSE, DROP, LOOK, OPEN, REFRESH, sharded, TRIM } from "./scripts.js";

/** The state of a stream in Redis, read in one step. */
export interface Look extends LogState {
  readonly entries: readonly Entry[];
}

/** The scripts of streams, each with a limit on its time. */
export interface StreamScripts {
  channel(stream: string): string;
  open(stream: string, epoch: string): Promise<boolean>;
  append(stream: string, epoch: string, first: number, texts: readonly string[]): Promise<unknown>;
  /** Has no limit, because no caller waits for it. */
  refresh(stream: string, epoch: string): Promise<unknown>;
  trim(stream: string, epoch: string, seq: number): Promise<unknown>;
  /** `last` is the sequence of the last entry that was to be appended. */
  close(stream: string, epoch: string, last: number): Promise<unknown>;
  drop(stream: string, epoch: string): Promise<unknown>;
  look(stream: string, after: number, limit: number): Promise<Look | undefined>;
}

export interface StreamScriptsOptions {
  readonly redis: RedisClient;
  readonly calls: Calls;
  readonly prefix: string;
  readonly maxLength: number;
  readonly lease: number;
  readonly keep: number;
}

export function makeStreamScripts({
  redis,
  calls,
  prefix,
  maxLength,
  lease,
  keep,
}: StreamScriptsOptions): StreamScripts {
  const define = (name: string, keys: number, lua: string) =>
    defineScript(redis, `parlance${name}`, keys, "nodes" in redis ? sharded(lua) : lua);
  const open = define("Open", 2, OPEN);
  const append = define("Append", 3, APPEND);
  const refresh = define("Refresh", 3, REFRESH);
  const close = define("Close", 2, CLOSE);
  const drop = define("Drop", 3, DROP);
  const trim = define("Trim", 2, TRIM);
  const look = define("Look", 3, LOOK);

  // Braces put the keys of one stream on one node of a cluster. A brace in the name must not end them early, nor may they be empty.
  const tag = (stream: string) => stream.replaceAll("%", "%25").replaceAll("}", "%7D") || "%";
  const hash = (stream: string) => `${prefix}{${tag(stream)}}`;
  const keysOf = (stream: string) => [hash(stream), `${hash(stream)}:lease`, `${hash(stream)}:entries`] as const;
  const channelOf = (stream: string) => `${hash(stream)}:wake`;
  const sendDrop = (stream: string, epoch: string) => drop(...keysOf(stream), epoch, channelOf(stream));

  return {
    channel: channelOf,
    async open(stream, epoch) {
      const [held, leased] = keysOf(stream);
      let sent: Promise<unknown> | undefined;
      try {
        const done = await calls.ask(`open ${stream}`, () => {
          sent = open(held, leased, epoch, lease, keep);
          return sent;
        });
        return done === 1;
      } catch (error) {
        // The call may still be executed, which would reserve the name without a writer.
        const release = () => sendDrop(stream, epoch).catch(() => {});
        if ((error as RedisStoreError).code !== "refused") sent?.then(release, release);
        throw error;
      }
    },
    append: (stream, epoch, first, texts) =>
      calls.ask(`append to ${stream}`, () =>
        append(...keysOf(stream), epoch, keep, maxLength, channelOf(stream), first, ...texts),
      ),
    refresh: (stream, epoch) => refresh(...keysOf(stream), epoch, lease, keep),
    trim(stream, epoch, seq) {
      const [held, , entries] = keysOf(stream);
      return calls.ask(`trim ${stream}`, () => trim(held, entries, epoch, seq + 1));
    },
    close(stream, epoch, last) {
      const [held, leased] = keysOf(stream);
      return calls.ask(`close ${stream}`, () => close(held, leased, epoch, channelOf(stream), last));
    },
    drop: (stream, epoch) => calls.ask(`drop ${stream}`, () => sendDrop(stream, epoch)),
    async look(stream, after, limit) {
      const found = await calls.ask(`read ${stream}`, () => look(...keysOf(stream), after, limit));
      if (!found) return undefined;
      const [epoch, first, last, closed, entries] = found as [
        epoch: string,
        first: string,
        last: string,
        closed: number,
        entries: [id: string, fields: string[]][],
      ];
      return {
        epoch,
        first: first === "" ? Number(last) + 1 : seqOf(first),
        last: Number(last),
        closed: closed === 1,
        entries: entries.map(([id, [, text]]) => ({ seq: seqOf(id), text: text! })),
      };
    },
  };
}

/** The sequence in an id `<seq>-0`. */
function seqOf(id: string): number {
  return Number(id.slice(0, id.indexOf("-")));
}
