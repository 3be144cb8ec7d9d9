import type { PubSub } from "@parlance/server/cluster";

/** A server's connection to a pub/sub: its calls take a time each, and wait while it is cut; what others publish then is lost to it. */
export function connection(shared: PubSub, latency: number, delivery = 0) {
  interface Held {
    readonly topic: string;
    readonly receive: (text: string) => void;
    readonly onInterrupted: (missing?: number) => void;
    unsubscribe(): void;
  }
  const held = new Set<Held>();
  let whole = Promise.resolve();
  const ready = async (): Promise<void> => {
    await whole;
    if (latency > 0) await new Promise((resolve) => setTimeout(resolve, latency));
    await whole;
  };
  const pubSub: PubSub = {
    async publish(topic, text) {
      await ready();
      return shared.publish(topic, text);
    },
    async subscribe(topic, take, onInterrupted = () => {}) {
      await ready();
      const receive = (text: string): void => {
        if (delivery === 0) take(text);
        else setTimeout(() => take(text), delivery);
      };
      const one: Held = { topic, receive, onInterrupted, unsubscribe: await shared.subscribe(topic, receive) };
      held.add(one);
      return () => {
        held.delete(one);
        one.unsubscribe();
      };
    },
  };
  return {
    pubSub,
    cut(milliseconds: number): void {
      for (const one of held) one.unsubscribe();
      whole = new Promise((resolve) => {
        setTimeout(async () => {
          for (const one of held) one.unsubscribe = await shared.subscribe(one.topic, one.receive);
          resolve();
          for (const one of held) one.onInterrupted(milliseconds);
        }, milliseconds);
      });
    },
  };
}
