import type { Link } from "./link.js";

export interface Subscriber {
  receive(text: string): void;
  /** Texts of so many milliseconds may be missing; from now on they are received again. */
  onInterrupted(missing: number): void;
}

export interface Subscription {
  readonly subscriber: Subscriber;
  /** Settles the first wait; undefined once settled. */
  wait: { resolve(): void; reject(error: unknown): void } | undefined;
}

/** A channel with subscribers. */
export interface Channel {
  readonly name: string;
  readonly subscriptions: Set<Subscription>;
  /** The connection that receives it, or will. */
  link: Link | undefined;
  /** Everything published from now on is received. */
  ready: boolean;
  /** When everything was received for the last time. */
  wholeAt: number;
}

/** The channels of one log or pub/sub, and which of them are interrupted. */
export interface Channels {
  get(name: string): Channel | undefined;
  /** Whether this channel still has subscribers. A later channel of the same name is another one. */
  isCurrent(channel: Channel): boolean;
  add(name: string): Channel;
  /** Removes a subscription. The channel goes with its last one. */
  remove(channel: Channel, subscription: Subscription): void;
  /** The channels that a link receives. They are interrupted from now on. */
  interrupt(link: Link): readonly Channel[];
  /** Marks a channel as received: ends first waits and reports the interruption to earlier subscribers. */
  settle(channel: Channel): void;
  isWhole(): boolean;
  /** Calls a function once, when no channel is interrupted. Returns a function that cancels it. */
  onceWhole(run: () => void): () => void;
  count(): number;
  clear(): void;
}

export function makeChannels(): Channels {
  const channels = new Map<string, Channel>();
  const interrupted = new Set<Channel>();
  const waiting = new Set<() => void>();
  const isCurrent = (channel: Channel) => channels.get(channel.name) === channel;

  function heal(channel: Channel): void {
    interrupted.delete(channel);
    if (interrupted.size === 0) endWaits();
  }

  function endWaits(): void {
    for (const run of waiting) run();
    waiting.clear();
  }

  return {
    get: (name) => channels.get(name),
    isCurrent,
    add(name) {
      const channel: Channel = {
        name,
        subscriptions: new Set(),
        link: undefined,
        ready: false,
        wholeAt: performance.now(),
      };
      channels.set(name, channel);
      return channel;
    },
    remove(channel, subscription) {
      subscription.wait?.resolve();
      if (!channel.subscriptions.delete(subscription) || channel.subscriptions.size > 0 || !isCurrent(channel)) return;
      channels.delete(channel.name);
      heal(channel);
      if (channel.ready) channel.link!.unsubscribe(channel.name);
    },
    interrupt(link) {
      const moving = [...channels.values()].filter((channel) => channel.link === link);
      const lost = moving.filter(({ ready }) => ready);
      for (const channel of moving) channel.link = undefined;
      for (const channel of lost) {
        channel.ready = false;
        channel.wholeAt = link.aliveAt();
        interrupted.add(channel);
      }
      return lost;
    },
    settle(channel) {
      channel.ready = true;
      heal(channel);
      for (const subscription of [...channel.subscriptions]) {
        const { wait } = subscription;
        subscription.wait = undefined;
        if (wait) wait.resolve();
        else subscription.subscriber.onInterrupted(performance.now() - channel.wholeAt);
      }
    },
    isWhole: () => interrupted.size === 0,
    onceWhole(run) {
      waiting.add(run);
      return () => void waiting.delete(run);
    },
    count: () => [...channels.values()].reduce((sum, { subscriptions }) => sum + subscriptions.size, 0),
    clear() {
      channels.clear();
      interrupted.clear();
      endWaits();
    },
  };
}
