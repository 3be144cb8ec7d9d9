import { type AnyContract, misuse, type TranscriptLine } from "@parlance/wire";
import { dataOf } from "../bodies.js";
import { type Ending, type ReadOptions, read } from "../read.js";
import { type Entry, type Header, headerOf } from "../recording.js";
import { isPath, notPath } from "../target.js";
import { TranscriptEntries, transcriptHeader } from "../transcript.js";

type Request = Extract<Entry, { kind: "request" }>;

/** One connection of a recording: its request, and what happened after it. */
export interface RecordedConnection {
  readonly request: Request;
  /** Of the request, as `comparable` gives it; undefined where it had none. */
  body: string | undefined;
  /** The same body, where it is not text. */
  base64?: string;
  /** The position of the request among all entries. */
  readonly at: number;
  readonly steps: Step[];
}

export interface Step {
  readonly entry: Entry;
  readonly at: number;
}

/** A recording in memory, as replays need it. */
export interface LoadedRecording {
  readonly header: Header;
  readonly entries: readonly Entry[];
  /** In the order of their requests. */
  readonly connections: readonly RecordedConnection[];
  readonly ending: Ending;
}

/** Reads a recording, or with its contract a transcript, to be replayed. Throws `TypeError` if it has nothing to replay. */
export async function loadRecording(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: Pick<ReadOptions, "hash" | "contract"> = {},
): Promise<LoadedRecording> {
  let header: Header | undefined;
  const entries: Entry[] = [];
  const ending = await read(chunks, {
    ...options,
    onHeader: (one) => {
      header = one;
    },
    onEntry: (entry) => void entries.push(entry),
  });
  if (!header) throw misuse(ending.reason ?? "this is not a recording");
  if (ending.state === "altered") throw misuse(`the recording is altered: ${ending.reason}`);
  if (header.metadataOnly) throw misuse("the recording has metadata only: there are no messages to replay");
  for (const [at, entry] of entries.entries()) {
    const flaw = unsendable(entry);
    if (flaw !== undefined) throw misuse(`entry ${at + 1} cannot be replayed: ${flaw}`);
  }
  const connections = connectionsIn(entries);
  const switched = connections.find(
    ({ request, steps }) =>
      !request.socket && steps.some(({ entry }) => entry.kind === "response" && entry.status === 101),
  );
  if (switched) throw misuse(`${nameOf(switched)} asks for no WebSocket, and is answered 101`);
  return { header, entries, connections, ending };
}

/** Why an entry cannot be sent again; undefined if it can. */
export function unsendable(entry: Entry): string | undefined {
  if (entry.kind === "request" && !isPath(entry.target)) return notPath(entry.target);
  if (entry.kind === "close" && !isCloseCode(entry.code)) return `a WebSocket is not closed with ${entry.code}`;
  return undefined;
}

/** Codes of a close frame (RFC 6455, section 7.4), and 1005 and 1006, which stand for a close without one. */
const isCloseCode = (code: number) => (code >= 1000 && code <= 1014 && code !== 1004) || (code >= 3000 && code <= 4999);

export function connectionsIn(entries: readonly Entry[]): RecordedConnection[] {
  const connections = new Map<number, RecordedConnection>();
  for (const [at, entry] of entries.entries()) {
    const connection = connections.get(entry.c);
    if (entry.kind === "request") connections.set(entry.c, { request: entry, body: undefined, at, steps: [] });
    else if (entry.kind === "body" && entry.from === "client" && connection) {
      connection.body = entry.base64 === undefined ? entry.text : dataOf(entry.base64);
      if (entry.base64 !== undefined) connection.base64 = entry.base64;
    } else connection?.steps.push({ entry, at });
  }
  return [...connections.values()];
}

/** How many of the server's messages a replay cannot compare: their text was left out, or they are binary frames. */
export function uncompared({ entries }: LoadedRecording): number {
  const isUncompared = (entry: Entry) =>
    entry.from === "server" &&
    (("size" in entry && entry.size !== undefined) || (entry.kind === "frame" && entry.base64 !== undefined));
  return entries.filter(isUncompared).length;
}

/** Describes a connection in a replay's problems. */
export function nameOf({ request: { method, target, socket } }: RecordedConnection): string {
  return `${socket ? "WebSocket" : method} ${target}`;
}

/** Whether a request resumes an earlier one that was cut. */
export function resumes(headers: Request["headers"]): boolean {
  return headerOf(headers, "last-event-id") !== undefined;
}

/** A contract's transcript as a recording. */
export function transcriptRecording(contract: AnyContract, lines: readonly TranscriptLine[]): LoadedRecording {
  const entries: Entry[] = [];
  const reader = new TranscriptEntries(contract, (entry) => void entries.push(entry));
  for (const line of lines) reader.line(line);
  reader.end();
  const ending = { state: "complete", lines: lines.length } as const;
  return { header: transcriptHeader(contract), entries, connections: connectionsIn(entries), ending };
}
