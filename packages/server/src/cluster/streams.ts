import { newKey, Refusal, type RefusalDetails } from "@parlance/wire";
import type { RemoteStreams } from "../ports.js";
import type { Wiring } from "./publish.js";
import { subscribe } from "./subscriptions.js";

type Packet =
  /** To the server that runs a stream: how far its reader is, or that the stream is to end. */
  | { readonly seq: number; readonly reader: string }
  | { readonly left: string }
  | { readonly cancel: true }
  /** From it, to those that wait for the first message. */
  | { readonly refused: RefusalDetails & { readonly message: string } };

const topicOf = (name: string): string => `stream/${name}`;

/** Streams of other servers: their messages are in the shared log, and the rest goes through pub/sub. */
export function clusterStreams(wiring: Wiring): RemoteStreams {
  const { limits, mention, publish, root } = wiring;
  return {
    async listen(name, scope, on) {
      const receive = (packet: Packet): void => {
        if ("cancel" in packet) on.cancel?.();
        else if ("seq" in packet) on.reach?.(packet.seq, packet.reader);
        else if ("left" in packet) on.leave?.(packet.left);
        else on.refused?.(new Refusal(packet.refused.message, packet.refused));
      };
      // A stream runs without pub/sub too; subscribing is retried in the background.
      await subscribe(wiring, { topic: topicOf(name), scope, receive }).catch(() => {});
    },
    refuse(name, refusal) {
      mention(topicOf(name), { refused: { ...refusal, message: refusal.message } } satisfies Packet);
    },
    report(name, after, reader) {
      let at = after;
      const id = newKey();
      const send = (): void => mention(topicOf(name), { seq: at, reader: id } satisfies Packet);
      // The others learn of a server that closes in time.
      reader.add(() => root.closed || mention(topicOf(name), { left: id } satisfies Packet));
      // Often enough that the stream's server does not take the reader for gone.
      reader.interval(Math.max(1, limits.grace / 3), send);
      send();
      return (seq) => {
        at = seq;
        send();
      };
    },
    cancel: async (name) => (await publish(topicOf(name), { cancel: true } satisfies Packet)) > 0,
  };
}
