import { type Calls, passes, refusal } from "./calls.js";
import type { Channel, Channels } from "./channel.js";
import type { RedisClient } from "./client.js";
import { type Link, openLink } from "./link.js";
import { makeLocate, type Place } from "./nodes.js";

/** Milliseconds before failed subscriptions are retried: the first and the longest wait. */
const RETRY_FIRST = 20;
const RETRY_MOST = 1000;

export interface PlacingOptions {
  readonly redis: RedisClient;
  readonly calls: Calls;
  readonly channels: Channels;
  /** Milliseconds between two checks that a node still answers. */
  readonly heartbeat: number;
}

/** Puts channels on the nodes that serve them, over one connection to each. */
export interface Placing {
  /** Subscribes channels, and those that fail again later, until they have no subscriber. */
  place(channels: readonly Channel[]): Promise<void>;
  connections(): number;
  stop(): void;
}

export function makePlacing({ redis, calls, channels, heartbeat }: PlacingOptions): Placing {
  const links = new Map<string, Link>();
  const locate = makeLocate(redis, calls);

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

  /** Moves the channels of a lost link to a new one. Those that are not ready are retried by the call that places them. */
  function forget(id: string, link: Link): void {
    link.close();
    if (links.get(id) === link) links.delete(id);
    void place(channels.interrupt(link), 0);
  }

  async function place(batch: readonly Channel[], attempt: number): Promise<void> {
    const current = batch.filter(channels.isCurrent);
    const found = await Promise.all(current.map(({ name }) => locate(name).catch(() => undefined)));
    const groups = new Map<string, { readonly place: Place; readonly group: Channel[] }>();
    for (const [i, place] of found.entries()) {
      if (!place) continue;
      if (!groups.has(place.id)) groups.set(place.id, { place, group: [] });
      groups.get(place.id)!.group.push(current[i]!);
    }
    const joined = await Promise.all([...groups.values()].map(({ place, group }) => join(place, group)));
    const failed = [...current.filter((_, i) => !found[i]), ...joined.flat()].filter(channels.isCurrent);
    const delay = Math.min(RETRY_FIRST * 2 ** attempt, RETRY_MOST);
    if (failed.length > 0) calls.after(delay, () => void place(failed, attempt + 1));
  }

  /** Subscribes channels on one node. Resolves to those that failed. */
  async function join(place: Place, group: readonly Channel[]): Promise<readonly Channel[]> {
    const current = group.filter(channels.isCurrent);
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
      if (!channels.get(channel.name)) link.unsubscribe(channel.name);
      else if (channels.isCurrent(channel) && channel.link === link) channels.settle(channel);
    }
    return current.filter((channel) => !channel.ready);
  }

  return {
    place: (batch) => place(batch, 0),
    connections: () => links.size,
    stop() {
      for (const link of links.values()) link.close();
      links.clear();
    },
  };
}

/** Ends the first waits of a channel that Redis forbids this client to subscribe. */
function refuse(channel: Channel, link: Link, error: unknown): void {
  link.unsubscribe(channel.name);
  for (const { wait } of [...channel.subscriptions]) wait?.reject(refusal(`subscribe to ${channel.name}`, error));
}
