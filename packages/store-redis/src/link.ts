import type { Calls } from "./calls.js";
import type { ConnectionOptions, RedisConnection } from "./client.js";

const OPTIONS: ConnectionOptions = {
  retryStrategy: null,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  enableOfflineQueue: true,
  lazyConnect: false,
  readOnly: false,
  keyPrefix: "",
};

/** One subscribing connection to one Redis node. It is not reused once lost. */
export interface Link {
  /** Resolves once everything published on these channels from now on is received. */
  join(channels: readonly string[]): Promise<void>;
  unsubscribe(channel: string): void;
  /** Everything published until then was received. */
  aliveAt(): number;
  close(): void;
}

export interface LinkOptions {
  readonly calls: Calls;
  /** The node is one of a Redis Cluster, so sharded pub/sub is used. */
  readonly sharded: boolean;
  /** Milliseconds between two checks that the node still answers. */
  readonly heartbeat: number;
  receive(channel: string, text: string): void;
  /** The connection broke, the node hangs, or a slot has moved away. Called once, but not after `close`. */
  onLost(): void;
}

export function openLink(node: RedisConnection, { calls, sharded, heartbeat, receive, onLost }: LinkOptions): Link {
  const connection = node.duplicate(OPTIONS);
  const channels = new Set<string>();
  let closed = false;
  let cancelBeat = () => {};
  let aliveAt = performance.now();

  function close(): void {
    // Every call that failed on it says so, and each `disconnect` adds a listener.
    if (closed) return;
    closed = true;
    cancelBeat();
    connection.disconnect();
  }

  function lose(): void {
    if (closed) return;
    close();
    onLost();
  }

  /** What was published before a question comes before its answer. */
  async function answered<T>(answer: Promise<T>): Promise<T> {
    const asked = performance.now();
    const value = await answer;
    aliveAt = asked;
    return value;
  }

  /** A node that hangs keeps its connections, so its silence has to be noticed. */
  function beat(): void {
    cancelBeat();
    if (channels.size === 0 || closed) return;
    cancelBeat = calls.after(heartbeat, () => {
      calls.within("PING", answered(connection.ping())).then(beat, lose);
    });
  }

  connection.on(sharded ? "smessage" : "message", (channel, text) => {
    if (!closed) receive(channel, text);
  });
  // The user's own client reports the same error.
  connection.on("error", () => {});
  connection.on("end", lose);
  // The server has unsubscribed a channel, because its slot is now on another node.
  connection.on("moved", lose);

  return {
    async join(names) {
      if (channels.size === 0) queueMicrotask(beat);
      for (const name of names) channels.add(name);
      // Channels of one SSUBSCRIBE must share a slot.
      const subscribed = sharded
        ? Promise.all(names.map((name) => connection.ssubscribe(name)))
        : connection.subscribe(...names);
      await calls.within(`subscribe to ${names.length} channels`, answered<unknown>(subscribed));
    },
    unsubscribe(name) {
      channels.delete(name);
      if (channels.size === 0) cancelBeat();
      // When the connection breaks the server forgets the subscription anyway.
      (sharded ? connection.sunsubscribe(name) : connection.unsubscribe(name)).catch(() => {});
    },
    aliveAt: () => aliveAt,
    close,
  };
}
