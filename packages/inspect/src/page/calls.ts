import type { Row } from "../row.js";

/** A connection in the overview: a call with its answer, a stream, or a channel. */
export interface Call {
  readonly c: number;
  /** The row of its request. */
  readonly n: number;
  name: string;
  readonly socket: boolean;
  readonly resumes: boolean;
  readonly start: number;
  session?: string;
  status?: number;
  /** Milliseconds from the request to the answer's head. */
  latency?: number;
  /** Milliseconds from the request to the server's first message. */
  first?: number;
  messages: number;
  beats: number;
  flaws: number;
  /** The longest silence between two entries, in milliseconds. */
  gap: number;
  last: number;
  state: "open" | "done" | "cut";
  /** Times of its messages, thinned out, for the drawing. */
  marks: number[];
  /** Every which message has a mark. */
  every: number;
}

/** Marks that are kept of a call; beyond, every second one is dropped, and of later messages too. */
const MAX_MARKS = 256;
/** A silence of so many milliseconds is drawn as a gap. */
export const GAP = 1000;

/** Adds a row to the calls. Returns the silence before it on its connection where that is a gap. */
export function addRow(calls: Map<number, Call>, row: Row): number | undefined {
  const call = calls.get(row.c) ?? begin(row);
  if (!calls.has(row.c)) calls.set(row.c, call);
  const silence = row.t - call.last;
  if (row.kind !== "fault") {
    call.gap = Math.max(call.gap, silence);
    call.last = row.t;
  }
  if (row.call !== undefined) call.name = row.call;
  if (row.session !== undefined) call.session = row.session;
  call.flaws += row.flaws?.length ?? 0;
  if (row.kind === "response") {
    call.status = row.status;
    call.latency = row.t - call.start;
  } else if (row.kind === "event" || row.kind === "frame") {
    call.messages++;
    if (row.from === "server") call.first ??= row.t - call.start;
    mark(call, row.t);
  } else if (row.kind === "ping" || row.kind === "pong" || row.kind === "comment") call.beats++;
  else if (row.kind === "body" && row.from === "server") call.first ??= row.t - call.start;
  else if (row.kind === "end" || row.kind === "close") call.state = "done";
  else if (row.kind === "error") call.state = call.state === "done" ? "done" : "cut";
  return silence >= GAP ? silence : undefined;
}

function begin(row: Row): Call {
  return {
    c: row.c,
    n: row.n,
    name: row.text,
    socket: row.socket === true,
    resumes: row.resumes === true,
    start: row.t,
    messages: 0,
    beats: 0,
    flaws: 0,
    gap: 0,
    last: row.t,
    state: "open",
    marks: [],
    every: 1,
  };
}

function mark(call: Call, t: number): void {
  if (call.messages % call.every !== 0) return;
  call.marks.push(t);
  if (call.marks.length <= MAX_MARKS) return;
  call.marks = call.marks.filter((_, at) => at % 2 === 1);
  call.every *= 2;
}

export function milliseconds(value: number): string {
  if (value < 10) return `${value.toFixed(1)} ms`;
  if (value < 1000) return `${value.toFixed(0)} ms`;
  return value < 60_000 ? `${(value / 1000).toFixed(1)} s` : `${(value / 60_000).toFixed(1)} min`;
}
