import type { Entry } from "@parlance/server/resume";
import type { RedisLog, RedisPubSub, RedisStoreError } from "@parlance/store-redis";

/** Two servers: one writes and publishes, the other reads and subscribes. */
export interface Servers {
  readonly writer: RedisLog;
  readonly reader: RedisLog;
  readonly publisher: RedisPubSub;
  readonly subscriber: RedisPubSub;
}

/** One stream that is written, read and announced until `finish` is called. */
export interface Traffic {
  readonly stream: string;
  /** The last entry that was acknowledged. */
  appended(): number;
  readonly read: readonly Entry[];
  readonly received: readonly string[];
  interrupted(): number;
  finish(): void;
  /** Drops the stream. */
  drop(): Promise<void>;
  /** How the writer ended: its error, or undefined after `finish`. */
  readonly written: Promise<RedisStoreError | undefined>;
  /** How the reader ended. */
  readonly ended: Promise<RedisStoreError | undefined>;
}

export async function begin({ writer, reader, publisher, subscriber }: Servers, stream: string): Promise<Traffic> {
  const own = (await writer.open(stream))!;
  const read: Entry[] = [];
  const received: string[] = [];
  let appended = 0;
  let interrupted = 0;
  let finishing = false;

  async function write(): Promise<RedisStoreError | undefined> {
    try {
      while (!finishing) {
        await own.append(appended + 1, `text ${appended + 1}`);
        appended++;
        publisher.publish(stream, `${appended}`).catch(() => {});
      }
      return undefined;
    } catch (error) {
      return error as RedisStoreError;
    } finally {
      await own.close().catch(() => {});
    }
  }
  async function follow(): Promise<RedisStoreError | undefined> {
    try {
      for await (const entries of reader.tail(stream, 0, new AbortController().signal)) read.push(...entries);
      return undefined;
    } catch (error) {
      return error as RedisStoreError;
    }
  }

  await subscriber.subscribe(
    stream,
    (text) => received.push(text),
    () => interrupted++,
  );
  return {
    stream,
    read,
    received,
    appended: () => appended,
    interrupted: () => interrupted,
    finish() {
      finishing = true;
    },
    drop: own.drop,
    written: write(),
    ended: follow(),
  };
}
