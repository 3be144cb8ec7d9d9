import { isObject, RESUME } from "@parlance/wire";
import type { Asked, Conversations } from "../conversation.js";
import { type Entry, type HeaderList, headerOf } from "../recording.js";
import { remember } from "./bounded.js";
import type { Finding, Open } from "./finding.js";

const KEY = RESUME.toLowerCase();

/** The part of an open connection that depends on resuming. */
type Resumption = Pick<Open, "key" | "resuming" | "rejoined"> & { readonly asked?: Asked };

/**
 * Knows the requests by which streams and channels are resumed. They are in no contract: GET or DELETE on a stream's path with its key,
 * GET on a channel's path for a ticket, a socket with that ticket. A channel's first socket has its key.
 */
export class Resumptions {
  readonly #talk: Conversations;
  /** The calls that began resumable streams, by key. */
  readonly #streams = new Map<string, Asked>();
  readonly #keys = new Map<string, string>();
  /** Keys of channels that have had a socket. */
  readonly #joined = new Map<string, true>();
  /** Losses that count unless the stream or channel is resumed. */
  readonly #lost = new Map<string, Finding>();

  constructor(talk: Conversations) {
    this.#talk = talk;
  }

  /** How a request resumes; an ordinary one does not. */
  of({ method, target, headers, socket }: Extract<Entry, { kind: "request" }>): Resumption {
    if (socket) return this.#channel(headers);
    const key = headerOf(headers, KEY);
    if (key === undefined) return { key, resuming: undefined };
    const names = [...(this.#talk.namesAt("GET", target) ?? []), ...(this.#talk.namesAt("POST", target) ?? [])];
    const { operations, channels } = this.#talk.contract;
    const stream = names.find((name) => operations[name]?.answer.stream);
    const channel = names.find((name) => channels[name]);
    if (method === "DELETE" && (stream ?? channel) !== undefined) return { key, resuming: "cancel" };
    if (method === "GET" && channel !== undefined) return { key, resuming: "offer" };
    const begins = headerOf(headers, "last-event-id") === undefined && operations[stream ?? ""]?.method === "GET";
    if (method !== "GET" || stream === undefined || begins) return { key, resuming: undefined };
    const asked = this.#streams.get(key) ?? { name: stream, input: {}, session: undefined };
    return { key, resuming: "stream", asked };
  }

  /** A stream has begun. */
  began({ key }: Open, asked: Asked): void {
    if (key !== undefined) remember(this.#streams, key, asked);
  }

  /** A stream or channel goes on. */
  resumed({ key }: Open): void {
    if (key !== undefined) this.#lost.delete(key);
  }

  /** Notes the ticket of an offer. */
  offered({ key }: Open, body: unknown): void {
    if (key !== undefined && isObject(body) && typeof body.ticket === "string") remember(this.#keys, body.ticket, key);
  }

  /** Whether a loss may be resumed; the finding is then kept until the end. Returns one that can be kept no longer. */
  lost(key: string, finding: Finding): Finding | undefined {
    return remember(this.#lost, key, finding);
  }

  /** The losses that were not resumed. */
  end(): Finding[] {
    return [...this.#lost.values()];
  }

  #channel(headers: HeaderList): Resumption {
    const ticket = /parlance\.([^\s,]+)/.exec(headerOf(headers, "sec-websocket-protocol") ?? "")?.[1];
    const key = ticket === undefined ? headerOf(headers, KEY) : this.#keys.get(ticket);
    // Of a ticket whose offer was not recorded, the channel may have been opened before.
    const rejoined = key === undefined ? ticket !== undefined : this.#joined.has(key);
    if (key !== undefined) remember(this.#joined, key, true);
    return { key, resuming: undefined, rejoined };
  }
}
