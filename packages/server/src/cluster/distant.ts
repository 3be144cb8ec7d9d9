import type { Scope } from "@parlance/wire/scope";
import type { LocalStore, Sent } from "../ports.js";
import type { FollowedSessions } from "./follow.js";
import type { Owing } from "./members.js";
import { Outbox } from "./outbox.js";
import type { Packet } from "./packet.js";
import type { Wiring } from "./publish.js";

/** A reader on another server. */
interface Distant {
  readonly scope: Scope;
  readonly out: Outbox;
}

interface DistantOptions {
  /** This server's own topic. */
  readonly me: string;
  readonly wiring: Wiring;
  readonly local: LocalStore;
  readonly followed: FollowedSessions;
  /** A reader was given up. */
  readonly onLost: (key: string) => void;
}

/** Readers on other servers: each is a subscriber of its session here, reached through pub/sub. */
export class DistantReaders {
  readonly #options: DistantOptions;
  readonly #readers = new Map<string, Distant>();
  readonly #owing: (readonly [reader: string, place: number])[] = [];

  constructor(options: DistantOptions) {
    this.#options = options;
  }

  /** What was not confirmed when this server closed. */
  owing(): Owing {
    return this.#owing;
  }

  /** Subscribes a reader: unconfirmed messages and open asks first, then new messages. */
  meet(key: string, reader: string, from: string): void {
    const { local, followed } = this.#options;
    const known = this.#readers.get(reader);
    if (known) return known.out.repeat();
    followed.follow(key);
    const { scope, out } = this.#open(key, reader, from, local.confirmed(key));
    let joining = true;
    const send = (sent: Sent): Promise<void> | undefined => {
      // The sender's mistake must not reach a reader on another server.
      local.check(sent.message, sent);
      return out.send(sent, joining);
    };
    local.subscribe(key, { end: () => out.finish(), send }, scope);
    joining = false;
  }

  /** Sends a reader the rest of a session that has ended, and its end. */
  give(key: string, reader: string, from: string): void {
    const { local, followed } = this.#options;
    const known = this.#readers.get(reader);
    if (known) {
      known.out.finish();
      return known.out.repeat();
    }
    const rest = followed.get(key)?.rest ?? { begin: local.confirmed(key), sent: local.unconfirmed(key) };
    const { out } = this.#open(key, reader, from, rest.begin);
    for (const sent of rest.sent) void out.send(sent, true);
    out.finish();
  }

  received(reader: string, place: number): void {
    this.#readers.get(reader)?.out.received(place);
  }

  left(reader: string): void {
    this.#readers.get(reader)?.scope.close();
  }

  /** Begins to send to a reader, after the messages up to a place. */
  #open(key: string, reader: string, from: string, begin: number): Distant {
    const { me, wiring, followed, onLost } = this.#options;
    const { limits, publish, root } = wiring;
    const scope = (followed.get(key)?.scope ?? root).child("readers");
    const out = new Outbox({
      scope,
      limits,
      publish: (sent, { first, last }) => {
        const messages = sent.map(({ place, message }) => [place, message] as const);
        const packet: Packet = { type: "messages", key, from: me, reader, messages };
        return publish(from, { ...packet, ...(first && { begin }), ...(last && { last }) });
      },
      onLost: () => {
        scope.close();
        // It may have reconnected before we noticed the loss.
        onLost(key);
      },
    });
    const distant: Distant = { scope, out };
    this.#readers.set(reader, distant);
    scope.add(() => {
      if (root.closed && out.size > 0) this.#owing.push([reader, out.last]);
      if (this.#readers.get(reader) === distant) this.#readers.delete(reader);
    });
    scope.measure("queued", () => out.size);
    return distant;
  }
}
