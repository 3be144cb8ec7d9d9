import { misuse } from "@parlance/wire";
import { type Ending, type ReadOptions, read } from "../read.js";
import { type Entry, type Header, headerOf } from "../recording.js";

type Request = Extract<Entry, { kind: "request" }>;

/** One connection of a recording: its request, and what happened after it. */
export interface Take {
  readonly request: Request;
  /** Of the request; undefined where it had none. */
  body: string | undefined;
  /** The position of the request among all entries. */
  readonly at: number;
  readonly steps: Step[];
}

export interface Step {
  readonly entry: Entry;
  readonly at: number;
}

/** A recording in memory, as replays need it. */
export interface Tape {
  readonly header: Header;
  readonly entries: readonly Entry[];
  /** In the order of their requests. */
  readonly takes: readonly Take[];
  readonly ending: Ending;
}

/** Reads a recording, or with its contract a transcript, to be replayed. Throws `TypeError` if it has nothing to replay. */
export async function loadTape(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: Pick<ReadOptions, "hash" | "contract"> = {},
): Promise<Tape> {
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
  return { header, entries, takes: takesOf(entries), ending };
}

export function takesOf(entries: readonly Entry[]): Take[] {
  const takes = new Map<number, Take>();
  for (const [at, entry] of entries.entries()) {
    const take = takes.get(entry.c);
    if (entry.kind === "request") takes.set(entry.c, { request: entry, body: undefined, at, steps: [] });
    else if (entry.kind === "body" && entry.from === "client" && take) take.body = entry.text;
    else take?.steps.push({ entry, at });
  }
  return [...takes.values()];
}

/** Describes a connection in a replay's problems. */
export function nameOf({ request: { method, target, socket } }: Take): string {
  return `${socket ? "WebSocket" : method} ${target}`;
}

/** Whether a request resumes an earlier one that was cut. */
export function resumes(headers: Request["headers"]): boolean {
  return headerOf(headers, "last-event-id") !== undefined;
}
