import { contractValue } from "@parlance/language/value";
import { expect, test } from "vitest";
import { Conversations } from "../../src/conversation.js";
import type { Entry, HeaderList } from "../../src/recording.js";
import { Verifier } from "../../src/verify.js";
import { ferry } from "../ferry.js";

// The requests that resume a stream or a channel, or end it: no contract has them.

const contract = contractValue(ferry);
const line = (c: number, from: "client" | "server", more: object) => ({ t: 0, c, from, ...more }) as Entry;
const request = (c: number, method: string, target: string, headers: HeaderList = [], socket = false) =>
  line(c, "client", { kind: "request", method, target, headers, ...(socket && { socket }) });
const response = (c: number, status: number, headers: HeaderList = []) =>
  line(c, "server", { kind: "response", status, headers });
const body = (c: number, text: string) => line(c, "server", { kind: "body", text });
const end = (c: number) => line(c, "server", { kind: "end" });
const lost = (c: number) => line(c, "server", { kind: "error", text: "lost" });
const frame = (c: number, from: "client" | "server", kind: string, rest: object) =>
  line(c, from, { kind: "frame", text: JSON.stringify({ kind, ...rest }) });
const event = (c: number, kind: string, rest: object) =>
  line(c, "server", { kind: "event", event: kind, text: JSON.stringify({ kind, ...rest }) });

const by = (key: string) => [["Parlance-Resume", key]] as const;
const STREAM = [["Content-Type", "text/event-stream"]] as const;
const JSON_TYPE = [["Content-Type", "application/json"]] as const;
/** The document of a channel with a ticket, and the socket with it. */
const offered = (c: number, target: string, key: string, ticket: string) => [
  request(c, "GET", target, by(key)),
  response(c, 200, JSON_TYPE),
  body(c, JSON.stringify({ ticket })),
  end(c),
];
const joined = (c: number, target: string, ticket: string) => [
  request(c, "GET", target, [["Sec-WebSocket-Protocol", `bearer, parlance.${ticket}`]], true),
  response(c, 101),
];
const welcome = (c: number) => frame(c, "server", "welcome", { crew: 5 });
const told = (c: number) => frame(c, "server", "told", { text: "Soon." });
const notFirst = "order: deck is opened by welcome, not by told";
const loss = "end: the server's side was lost: lost";

async function found(...lines: Entry[]): Promise<string[]> {
  const messages: string[] = [];
  const talk = new Conversations(contract, await contract.accepts());
  const verifier = new Verifier(talk, ({ rule, message }) => messages.push(`${rule}: ${message}`));
  for (const [at, entry] of lines.entries()) verifier.entry(entry, at + 2);
  verifier.end(lines.length + 2, true);
  return messages;
}

const watch = (c: number, ...headers: HeaderList) => [
  request(c, "GET", "/piers/north/ferry", headers),
  response(c, 200, STREAM),
];
const last = ["Last-Event-ID", "e.1"] as const;

test.each<[string, Entry[], string[]]>([
  [
    "a DELETE of a stream by its key",
    [request(1, "DELETE", "/piers/north/ferry", by("k")), response(1, 204), end(1)],
    [],
  ],
  ["a DELETE of a channel by its key", [request(1, "DELETE", "/decks/upper", by("k")), response(1, 204), end(1)], []],
  [
    "a DELETE that is refused, in any form",
    [request(1, "DELETE", "/decks/upper", by("k")), response(1, 418), body(1, "tea"), end(1)],
    [],
  ],
  [
    "a DELETE without a key",
    [request(1, "DELETE", "/decks/upper"), response(1, 204), end(1)],
    ["route: ferry has no DELETE /decks/upper"],
  ],
  [
    "a DELETE of what is neither",
    [request(1, "DELETE", "/notice", by("k")), response(1, 204), end(1)],
    ["route: ferry has no DELETE /notice"],
  ],
  [
    "an offer that is refused, in any form",
    [request(1, "GET", "/decks/upper", by("k")), response(1, 404), body(1, "{"), end(1)],
    [],
  ],
  [
    "an offer that is refused with JSON that is cut",
    [request(1, "GET", "/decks/upper", by("k")), response(1, 404, JSON_TYPE), body(1, "{"), end(1)],
    [],
  ],
  [
    "a channel that begins as it must",
    [...offered(1, "/decks/upper", "k", "t"), ...joined(2, "/decks/upper", "t"), welcome(2)],
    [],
  ],
  [
    "a channel that does not",
    [...offered(1, "/decks/upper", "k", "t"), ...joined(2, "/decks/upper", "t"), told(2)],
    [notFirst],
  ],
  ["a channel of a ticket that was not recorded", [...joined(2, "/decks/upper", "t"), told(2)], []],
  [
    "a channel that is joined again",
    [
      ...offered(1, "/decks/upper", "k", "t"),
      ...joined(2, "/decks/upper", "t"),
      welcome(2),
      lost(2),
      ...offered(3, "/decks/upper", "k", "u"),
      ...joined(4, "/decks/upper", "u"),
      told(4),
    ],
    [],
  ],
  [
    "a channel that is lost, and another that is joined",
    [
      ...offered(1, "/decks/upper", "k", "t"),
      ...joined(2, "/decks/upper", "t"),
      welcome(2),
      lost(2),
      ...offered(3, "/decks/upper", "l", "u"),
      ...joined(4, "/decks/upper", "u"),
      told(4),
    ],
    [notFirst, loss],
  ],
  [
    "an answer on the socket after the one that asked",
    [
      ...offered(1, "/bridge", "k", "t"),
      ...joined(2, "/bridge", "t"),
      frame(2, "client", "where", { id: "w1" }),
      lost(2),
      ...offered(3, "/bridge", "k", "u"),
      ...joined(4, "/bridge", "u"),
      frame(4, "server", "there", { of: "w1" }),
    ],
    [],
  ],
  ["a stream that is lost", [...watch(1, ...by("k")), lost(1)], [loss]],
  ["a stream that cannot be resumed and is lost", [...watch(1), lost(1)], [loss]],
  [
    "a stream that is resumed",
    [...watch(1, ...by("k")), lost(1), ...watch(2, ...by("k"), last), event(2, "gone", {}), end(2)],
    [],
  ],
  [
    "a stream whose resuming is refused",
    [...watch(1, ...by("k")), lost(1), ...watch(2, ...by("k"), last).with(1, response(2, 410))],
    [loss],
  ],
  [
    "a stream of which the beginning was not recorded",
    [...watch(2, ...by("k"), last), event(2, "moved", {}), event(2, "gone", {}), end(2)],
    ["schema: server: ferry: `to` is missing in the message moved (from the server)"],
  ],
  ["a stream that begins by its key", [...watch(1, ...by("k")), event(1, "gone", {}), end(1)], []],
  [
    "an answer whose request's body was left out",
    [
      request(1, "POST", "/piers/north/bookings?deck=upper", JSON_TYPE),
      line(1, "client", { kind: "body", size: 7 }),
      response(1, 201, JSON_TYPE),
      body(1, "{}"),
      end(1),
    ],
    ["schema: server: ferry: `number` is missing in the answer of book (from the server)"],
  ],
])("%s", async (_, lines, messages) => expect(await found(...lines)).toEqual(messages));
