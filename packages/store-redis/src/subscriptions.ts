import { type Calls, passes, refusal } from "./calls.js";
import type { RedisClient } from "./client.js";
import { type Link, openLink } from "./link.js";
import { makeLocate, type Place } from "./nodes.js";

/** Milliseconds before channels that could not be subscribed are tried again: the first time, and at most. */
const RETRY_FIRST = 20;
const RETRY_MOST = 1000;
/** Milliseconds that a publisher waits for its own subscriptions to be whole again. */
const SETTLE = 1000;

export interface Subscriber {
  receive(text: string): void;
  /** Texts may have been missed; from now on they are received again. */
  onInterrupted(): void;
}

/** Subscriptions to any number of channels, over one connection to each node that has some of them. */
export interface Subscriptions {
  /** Subscribes at once or as soon as Redis is back. */
  subscribe(channel: string, subscriber: Subscriber): Joining;
  /** Resolves once every interrupted channel is received again, at most after a second. */
  settled(): Promise<void>;
  /** Subscriptions, waiting ones included. */
  count(): number;
  connections(): number;
  stop(): void;
}

/** A subscription that its owner leaves once, at any time. */
export interface Joining {
  /**
   * Resolves once everything published from now on is received, and also when it was left.
   * @throws {RedisStoreError} `timeout`, `refused` or `stopped`; it is left then
   */
  readonly ready: Promise<void>;
  leave(): void;
}

interface Subscription {
  readonly subscriber: Subscriber;
  /** Settles the first wait; undefined once it is over. */
  wait: { resolve(): void; reject(error: unknown): void } | undefined;
}

interface Channel {
  readonly name: string;
  readonly subscriptions: Set<Subscription>;
  link: Link | undefined;
  ready: boolean;
}

export function makeSubscriptions(redis: RedisClient, calls: Calls, heartbeat: number): Subscriptions {
  const channels = new Map<string, Channel>();
  const links = new Map<string, Link>();
  /** Channels that were received before and are not now. */
  const broken = new Set<Channel>();
  const whole = new Set<() => void>();
  const locate = makeLocate(redis, calls);

  const isCurrent = (channel: Channel): boolean => channels.get(channel.name) === channel;

  function linkTo({ id, node }: Place): Link {
    const known = links.get(id);
    if (known) return known;
    const link = openLink(node, {
      calls,
      sharded: "nodes" in redis,
      heartbeat,
      receive(name, text) {
        for (const { subscriber } of [...(channels.get(name)?.subscriptions ?? [])]) subscriber.receive(text);
      },
      onLost: () => forget(id, link),
    });
    links.set(id, link);
    return link;
  }

  /** Moves the channels of a lost link to a new one. Channels that are not ready are retried by the call that places them. */
  function forget(id: string, link: Link): void {
    link.close();
    if (links.get(id) === link) links.delete(id);
    const moving = [...channels.values()].filter((channel) => channel.link === link);
    const lost = moving.filter(({ ready }) => ready);
    for (const channel of moving) channel.link = undefined;
    for (const channel of lost) {
      channel.ready = false;
      broken.add(channel);
    }
    if (lost.length > 0) void place(lost, 0);
  }

  /** Subscribes channels on their nodes, and those that fail again later, until they have no subscriber. */
  async function place(batch: readonly Channel[], attempt: number): Promise<void> {
    const found = await Promise.all(
      batch
        .filter(isCurrent)
        .map(async (channel) => ({ channel, place: await locate(channel.name).catch(() => undefined) })),
    );
    const groups = new Map<string, { readonly place: Place; readonly group: Channel[] }>();
    const failed: Channel[] = [];
    for (const { channel, place } of found) {
      const known = place && (groups.get(place.id) ?? { place, group: [] });
      if (known) groups.set(known.place.id, known).get(known.place.id)!.group.push(channel);
      else failed.push(channel);
    }
    const joined = await Promise.all([...groups.values()].map(({ place, group }) => join(place, group)));
    failed.push(...joined.flat());
    const again = failed.filter(isCurrent);
    const delay = Math.min(RETRY_FIRST * 2 ** attempt, RETRY_MOST);
    if (again.length > 0) calls.after(delay, () => void place(again, attempt + 1));
  }

  /** Subscribes channels on one node. Resolves to those that failed. */
  async function join(place: Place, group: readonly Channel[]): Promise<readonly Channel[]> {
    const current = group.filter(isCurrent);
    if (current.length === 0 || calls.stopped) return [];
    const link = linkTo(place);
    for (const channel of current) channel.link = link;
    try {
      await link.join(current.map(({ name }) => name));
    } catch (error) {
      if (passes(error)) forget(place.id, link);
      else for (const channel of current) refuse(channel, link, error);
      return current;
    }
    for (const channel of current) {
      if (!channels.has(channel.name)) link.leave(channel.name);
      else if (isCurrent(channel) && channel.link === link) settle(channel);
    }
    return current.filter((channel) => !channel.ready);
  }

  function settle(channel: Channel): void {
    channel.ready = true;
    heal(channel);
    for (const subscription of [...channel.subscriptions]) {
      const { wait } = subscription;
      subscription.wait = undefined;
      if (wait) wait.resolve();
      else subscription.subscriber.onInterrupted();
    }
  }

  /** Ends the first waits of a channel that Redis does not let this client subscribe. */
  function refuse(channel: Channel, link: Link, error: unknown): void {
    link.leave(channel.name);
    for (const { wait } of [...channel.subscriptions]) wait?.reject(refusal(`subscribe to ${channel.name}`, error));
  }

  function heal(channel: Channel): void {
    broken.delete(channel);
    if (broken.size > 0) return;
    for (const resolve of whole) resolve();
    whole.clear();
  }

  function remove(channel: Channel, subscription: Subscription): void {
    subscription.wait?.resolve();
    if (!channel.subscriptions.delete(subscription) || channel.subscriptions.size > 0 || !isCurrent(channel)) return;
    channels.delete(channel.name);
    heal(channel);
    if (channel.ready) channel.link?.leave(channel.name);
  }

  return {
    subscribe(name, subscriber) {
      const subscription: Subscription = { subscriber, wait: undefined };
      let channel = channels.get(name);
      if (!channel) {
        channel = { name, subscriptions: new Set(), link: undefined, ready: false };
        channels.set(name, channel);
        void place([channel], 0);
      }
      channel.subscriptions.add(subscription);
      const leave = remove.bind(undefined, channel, subscription);
      if (channel.ready) return { ready: Promise.resolve(), leave };
      const first = new Promise<void>((resolve, reject) => {
        subscription.wait = { resolve, reject };
      });
      const ready = calls.within(`subscribe to ${name}`, first).catch((error) => {
        leave();
        throw error;
      });
      return { ready, leave };
    },
    async settled() {
      if (broken.size === 0) return;
      await new Promise<void>((resolve) => {
        const cancel = calls.after(SETTLE, () => {
          whole.delete(end);
          resolve();
        });
        const end = () => {
          cancel();
          resolve();
        };
        whole.add(end);
      });
    },
    count: () => [...channels.values()].reduce((sum, { subscriptions }) => sum + subscriptions.size, 0),
    connections: () => links.size,
    stop() {
      for (const link of links.values()) link.close();
      links.clear();
      channels.clear();
      broken.clear();
      for (const resolve of whole) resolve();
      whole.clear();
    },
  };
}
