import type { AnyContract, AnyMessage, ConnectionEvent, Input, Rejoin } from "@parlance/wire";
import { type Disconnected, Refusal } from "@parlance/wire/errors";
import { parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import { RESUME } from "@parlance/wire/resume-key";
import { decoder } from "@parlance/wire/sse";
import { type ConnectOptions, MAX_MESSAGE_SIZE } from "../options.js";
import { gap } from "../rejoin.js";
import type { Requests } from "../request.js";
import { discard } from "../response.js";
import { type BeginAgain, ReopenedStream } from "./reopening.js";
import type { Begin, Opening, StreamSource } from "./source.js";

/** Statuses of a server that no longer has what a reader has missed. */
const GONE = [204, 410];

/** Opens a stream that its contract describes how to join again after a cut, and that its server has not offered to resume. */
export function openJoined(
  contract: AnyContract,
  connection: ConnectOptions,
  requests: Requests,
  name: string,
  opening: Opening,
  begin: Begin,
): StreamSource<AnyMessage> {
  const what = `${contract.name}.${name}`;
  const rejoin = contract.operations[name]!.answer.stream!.rejoin!;
  const { parameters = {}, when = {} } = contract.operations[rejoin.operation]!;
  const place = new Place(what, rejoin);
  const own = Object.entries(opening.input).filter(([key]) => Object.hasOwn(parameters, key));
  let isOffered = false;
  let first: StreamSource<AnyMessage> | undefined;

  /** The input of a join; undefined while a parameter that it needs has no value. */
  function input(): Input | undefined {
    const all: Record<string, unknown> = { ...Object.fromEntries(own), ...place.values };
    const given = { ...all, ...when };
    const needs = Object.keys(parameters).filter((key) => parameters[key]!.required || parameters[key]!.in === "path");
    return needs.every((key) => given[key] !== undefined) ? all : undefined;
  }

  const asking = (isJoin: boolean): Requests => ({
    ...requests,
    async ask(...request) {
      const response = await requests.ask(...request);
      isOffered ||= response.headers.get(RESUME)?.includes(";") === true;
      if (isJoin && GONE.includes(response.status)) {
        discard(response);
        throw place.gap();
      }
      const { body } = response;
      return rejoin.after || rejoin.repeats || !response.ok || !body
        ? response
        : new Response(place.noting(body, connection.maxMessageSize), response);
    },
  });

  const beginAgain: BeginAgain = (how, connecting) => {
    if (!first) {
      first = begin(how, connecting, asking(false));
      return place.follow(first, 0);
    }
    const options = { ...opening.options, ...how.options };
    const headers = place.id === undefined ? options.headers : { ...options.headers, "Last-Event-ID": place.id };
    const joining = { ...how, name: rejoin.operation, input: input()!, options: { ...options, headers } };
    // The reader knows the stream by the name of its call.
    const { onConnection } = connecting;
    const named = {
      ...connecting,
      onConnection: onConnection && ((event: ConnectionEvent) => onConnection({ ...event, call: what })),
    };
    const source = begin(joining, named, asking(true));
    return place.follow(source, rejoin.repeats ? place.count : 0);
  };

  return new ReopenedStream(what, connection, opening, {
    begin: beginAgain,
    canFollow: ({ code }) => code !== "gap" && !isOffered && place.isKnown && input() !== undefined,
    refused: (error, lost) => unknownThere(error, lost),
    text: (messages) => first!.text(messages),
  });
}

/** A server that does not know the stream leaves its reader with the loss. */
function unknownThere(error: unknown, lost: Disconnected): unknown {
  if (!(error instanceof Refusal) || error.status === 401 || error.status === 403) return error;
  lost.cause = error;
  return lost;
}

/** How far a stream was read, in the terms of its server. */
class Place {
  readonly #what: string;
  readonly #rejoin: Rejoin;
  readonly #pointers: readonly (readonly [key: string, path: readonly string[], isAfter: boolean])[];
  /** Messages that were read. */
  count = 0;
  /** The id of the last event that was read. */
  id: string | undefined;
  /** Parameters of a join. */
  readonly values: Record<string, unknown> = {};

  constructor(what: string, rejoin: Rejoin) {
    this.#what = what;
    this.#rejoin = rejoin;
    const paths = (places: Readonly<Record<string, string>> = {}, isAfter: boolean) =>
      Object.entries(places).map(([key, pointer]) => [key, parsePointer(pointer), isAfter] as const);
    this.#pointers = [...paths(rejoin.input, false), ...paths(rejoin.after, true)];
  }

  /** Whether a join can name the place. */
  get isKnown(): boolean {
    const { repeats, after } = this.#rejoin;
    if (this.count === 0 || repeats) return true;
    return after ? Object.keys(after).every((key) => this.values[key] !== undefined) : this.id !== undefined;
  }

  gap(): Disconnected {
    return gap(this.#what, { after: this.count });
  }

  /** Notes the id of each event at the moment its reader gets it: what is read ahead would be lost with a cut. */
  noting(body: ReadableStream<Uint8Array>, maxSize = MAX_MESSAGE_SIZE): ReadableStream<Uint8Array> {
    const bytes = body.getReader();
    const text = new TextDecoder();
    const events = decoder({
      maxSize,
      onEvent: ({ id }) => {
        this.id = id ?? this.id;
      },
      onTooLarge() {},
    });
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await bytes.read();
          if (done) return controller.close();
          events.push(text.decode(value, { stream: true }));
          controller.enqueue(value);
        },
        cancel: (reason) => bytes.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  /** The messages of one opening that were not read before. `skip`: how many of the first were. */
  follow(source: StreamSource<AnyMessage>, skip: number): StreamSource<AnyMessage> {
    let left = skip;
    let failed: Disconnected | undefined;
    const fresh = (messages: readonly AnyMessage[]): AnyMessage[] => {
      const found: AnyMessage[] = [];
      for (const message of messages) {
        const state = left > 0 ? "known" : this.#read(message);
        if (left > 0) left--;
        else if (state === "new") found.push(message);
        else if (state !== "known") {
          failed = state;
          break;
        }
      }
      return found;
    };
    const batch = async (): Promise<IteratorResult<AnyMessage[]>> => {
      while (!failed) {
        const step = await source.messages.batch();
        // The whole stream is shorter than what was read of it.
        if (step.done && left > 0) failed = this.gap();
        else if (step.done) return step;
        else {
          const messages = fresh(step.value);
          if (messages.length > 0) return { done: false, value: messages };
        }
      }
      source.close();
      throw failed;
    };
    return {
      opened: source.opened,
      messages: { next: () => source.messages.next(), batch },
      get cancelled() {
        return source.cancelled;
      },
      close: () => source.close(),
      text: (messages) => source.text(messages),
      failure: () => source.failure(),
    };
  }

  /** Notes a message, unless it was read before by its number. Returns the gap where numbers are missing. */
  #read(message: AnyMessage): "new" | "known" | Disconnected {
    for (const [key, path, isAfter] of this.#pointers) {
      const value = valueAt(message, path);
      if (value === undefined) continue;
      const last = this.values[key];
      if (isAfter && typeof value === "number" && typeof last === "number") {
        if (value <= last) return "known";
        if (value > last + 1) return gap(this.#what, { after: last, first: value });
      }
      this.values[key] = value;
    }
    this.count++;
    return "new";
  }
}
