import { type AnyContract, misuse, type Side, type TranscriptLine } from "@parlance/wire";
import { LineDecoder } from "@parlance/wire/lines";
import { bytesIn, comparable } from "../bodies.js";
import { isLeftOut, LeftOut, leftOutAs } from "../left-out.js";
import { type Ending, type ReadOptions, read } from "../read.js";
import { type Content, type Entry, type Header, headerOf, isEnd, isHeader, parseLine } from "../recording.js";
import { isPath, notPath } from "../target.js";
import { TranscriptEntries, transcriptHeader } from "../transcript.js";
import type { Asked } from "./match.js";

type Request = Extract<Entry, { kind: "request" }>;

/** A place in a recording from which it can be read. */
export interface Place {
  /** The position of the entry among all entries. */
  readonly at: number;
  /** The position of its first byte in the file. */
  readonly byte: number;
}

/** One connection of a recording: its request, and what a replay has to know of what follows. */
export interface RecordedConnection {
  readonly request: Request;
  /** Of the request, as `comparable` gives it; undefined where it had none. */
  body?: string | undefined;
  /** The request had a body that was left out of the recording, in words. */
  bodyLeftOut?: string;
  /** The same of the answer's whole body. */
  answerLeftOut?: string;
  /** The same body, where it is not text. */
  base64?: string;
  /** The place of the request. */
  readonly place: Place;
  /** The position of its last entry. */
  last: number;
  /** The status of the answer, where there is one. */
  status?: number;
  /** Whether the server continues to send after it has answered the request. */
  isLong: boolean;
}

export interface Step {
  readonly entry: Entry;
  readonly at: number;
  /** Milliseconds after the entry before it. */
  readonly pause: number;
}

/** A recording to replay. Its requests are in memory; what follows them is read when it is played. */
export interface LoadedRecording {
  readonly header: Header;
  /** In the order of their requests. */
  readonly connections: readonly RecordedConnection[];
  /** The positions of the client's requests and messages. */
  readonly asks: readonly number[];
  /** The texts of each side that were left out: they can be neither sent nor compared. */
  readonly leftOut: { readonly [side in Side]: LeftOut };
  readonly ending: Ending;
  /** The entries from a place on, or all of them. */
  readonly steps: (from?: Place) => AsyncGenerator<Step, void>;
}

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/**
 * Reads a recording, or with its contract a transcript, to be replayed.
 *
 * A function as `source` gives the bytes from a position on, such as `(start) => createReadStream(path, { start })`: it is called again for what
 * is played, and the recording is not kept in memory.
 *
 * @throws `TypeError` if it has nothing to replay
 */
export async function loadRecording(
  source: Chunks | ((start: number) => Chunks),
  options: Pick<ReadOptions, "hash" | "contract"> = {},
): Promise<LoadedRecording> {
  let header: Header | undefined;
  const index = new Index();
  const kept: Entry[] = [];
  const isKept = typeof source !== "function";
  const ending = await read(isKept ? source : source(0), {
    ...options,
    onHeader: (one) => {
      header = one;
    },
    onEntry(entry, _, byte) {
      index.entry(entry, byte);
      // The lines of a transcript are not those of a recording.
      if (isKept || header?.transcript) kept.push(entry);
    },
  });
  if (!header) throw misuse(ending.reason ?? "this is not a recording");
  if (ending.state === "altered") throw misuse(`the recording is altered: ${ending.reason}`);
  if (header.metadataOnly) throw misuse("the recording has metadata only: there are no messages to replay");
  if (index.flaw !== undefined) throw misuse(index.flaw);
  const switched = index.connections.find(({ request, status }) => !request.socket && status === 101);
  if (switched) throw misuse(`${nameOf(switched)} asks for no WebSocket, and is answered 101`);
  const entries = isKept || header.transcript ? listed(kept) : readAgain(source);
  return index.recording(header, ending, entries);
}

/** A contract's transcript as a recording. */
export function transcriptRecording(contract: AnyContract, lines: readonly TranscriptLine[]): LoadedRecording {
  const entries: Entry[] = [];
  const index = new Index();
  const reader = new TranscriptEntries(contract, (entry) => {
    entries.push(entry);
    index.entry(entry, 0);
  });
  for (const line of lines) reader.line(line);
  reader.end();
  return index.recording(transcriptHeader(contract), { state: "complete", lines: lines.length }, listed(entries));
}

/** The parts of a recording that are kept while it is read. */
class Index {
  readonly connections: RecordedConnection[] = [];
  readonly #asks: number[] = [];
  readonly #open = new Map<number, RecordedConnection>();
  readonly #leftOut = { client: new LeftOut(), server: new LeftOut() };
  #at = 0;
  /** Why the recording cannot be replayed. */
  flaw: string | undefined;

  entry(entry: Entry, byte: number): void {
    const at = this.#at++;
    const wrong = unsendable(entry);
    if (wrong !== undefined) this.flaw ??= `entry ${at + 1} cannot be replayed: ${wrong}`;
    if (entry.from === "client" && (entry.kind === "request" || entry.kind === "frame")) this.#asks.push(at);
    if (entry.kind === "request") {
      const place = { at, byte };
      const made = { request: entry, place, last: at, isLong: entry.socket === true };
      this.connections.push(made);
      this.#open.set(entry.c, made);
      return;
    }
    const isGap = isLeftOut(entry);
    if (isGap) this.#leftOut[entry.from].add(entry as Content);
    const open = this.#open.get(entry.c);
    if (!open) return;
    open.last = at;
    if (isGap && entry.kind === "body")
      open[entry.from === "client" ? "bodyLeftOut" : "answerLeftOut"] = leftOutAs(entry);
    if (entry.kind === "response") open.status ??= entry.status;
    if (entry.kind === "event") open.isLong = true;
    if (entry.kind !== "body" || entry.from !== "client") return;
    open.body = textOf(entry, open.request.headers);
    if (entry.base64 !== undefined) open.base64 = entry.base64;
  }

  recording(header: Header, ending: Ending, steps: LoadedRecording["steps"]): LoadedRecording {
    return { header, ending, connections: this.connections, asks: this.#asks, leftOut: this.#leftOut, steps };
  }
}

function listed(entries: readonly Entry[]): LoadedRecording["steps"] {
  return async function* (from) {
    for (let at = from?.at ?? 0; at < entries.length; at++) yield stepOf(entries[at]!, at, entries[at - 1]);
  };
}

/** Reads the entries once more. Their hash, count and form have been checked. */
function readAgain(source: (start: number) => Chunks): LoadedRecording["steps"] {
  return async function* (from) {
    let at = from?.at ?? 0;
    let before: Entry | undefined;
    const decoder = new LineDecoder(Number.MAX_SAFE_INTEGER);
    for await (const chunk of source(from?.byte ?? 0))
      for (const line of decoder.decode(chunk)) {
        const parsed = parseLine(line);
        // A file that is written to meanwhile ends here.
        if ("flaw" in parsed || isEnd(parsed)) return;
        if (isHeader(parsed)) continue;
        yield stepOf(parsed, at++, before);
        before = parsed;
      }
  };
}

const stepOf = (entry: Entry, at: number, before?: Entry): Step => ({
  entry,
  at,
  pause: before ? entry.t - before.t : 0,
});

/** The text of a body as replays compare it, by the charset that its headers name. */
export function textOf({ text, base64 }: Content, headers: Request["headers"]): string | undefined {
  return base64 === undefined ? text : comparable(bytesIn(base64), headerOf(headers, "content-type"));
}

/** Why an entry cannot be sent again; undefined if it can. */
export function unsendable(entry: Entry): string | undefined {
  if (entry.kind === "request" && !isPath(entry.target)) return notPath(entry.target);
  if (entry.kind === "close" && !isCloseCode(entry.code)) return `a WebSocket is not closed with ${entry.code}`;
  return undefined;
}

/** Codes of a close frame (RFC 6455, section 7.4), and 1005 and 1006, which stand for a close without one. */
const isCloseCode = (code: number) => (code >= 1000 && code <= 1014 && code !== 1004) || (code >= 3000 && code <= 4999);

/** What a live request is compared with. */
export function askedIn({ request: { method, target }, body, bodyLeftOut }: RecordedConnection): Asked {
  return { method, target, body, takesAnyBody: bodyLeftOut !== undefined };
}

/** Describes a connection in a replay's problems. */
export function nameOf({ request: { method, target, socket } }: RecordedConnection): string {
  return `${socket ? "WebSocket" : method} ${target}`;
}

/** Whether a request resumes an earlier one that was cut. */
export function resumes(headers: Request["headers"]): boolean {
  return headerOf(headers, "last-event-id") !== undefined;
}
