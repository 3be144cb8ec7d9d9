import type { Json, TranscriptLine } from "@parlance/wire";
import { OpenAsks } from "@parlance/wire/link";
import type { Samples } from "./samples.js";
import type { JsonMessage } from "./steps.js";

type Call = Extract<TranscriptLine, { readonly call: string }>;
type Answer = Extract<TranscriptLine, { readonly status: number }>;
type Sent = Extract<TranscriptLine, { readonly wire: string }>;

/** One call of a transcript, with what happened on it. */
export interface TranscriptCall {
  readonly name: string;
  readonly at: string;
  readonly call: Call & { readonly request: NonNullable<Call["request"]> };
  answer?: Answer;
  readonly steps: TranscriptStep[];
  end?: { readonly from: "client" | "server"; readonly how: "done" | "close" | "cut" };
}

export type TranscriptStep =
  | {
      readonly from: "client" | "server";
      readonly wire: string;
      /** Absent where the message is unknown. */
      readonly message?: JsonMessage;
      /** Whether only readers know this form; nobody writes it. */
      readonly read: boolean;
      /** The server's own reaction rather than its handler's: busy, or the fault that answers an unknown message. */
      readonly reaction: boolean;
      /** Whether a handler sees this message of the client. */
      readonly heard: boolean;
      /** Whether it is a second ask, or its refusal: a server refuses it only while the first is open. */
      readonly busy?: true;
    }
  /** An operation that is called while the stream or channel is open. */
  | { readonly inner: TranscriptCall };

/** The calls of all transcripts. An operation between the messages of a stream is a step of the stream, and a call of its own. */
export function transcriptCallsOf(samples: Samples): TranscriptCall[] {
  return Object.entries(samples.document.transcripts).flatMap(([name, lines]) => callsIn(samples, name, lines));
}

function callsIn(samples: Samples, name: string, lines: readonly TranscriptLine[]): TranscriptCall[] {
  const { operations, channels } = samples.contract;
  const all: TranscriptCall[] = [];
  let carrier: TranscriptCall | undefined;
  let last: TranscriptCall | undefined;
  for (const [index, line] of lines.entries()) {
    if ("call" in line && line.request) {
      const at = `transcripts/${name}.jsonl:${index + 1}`;
      last = { name: `${name}/${index + 1}`, at, call: line as TranscriptCall["call"], steps: [] };
      all.push(last);
      if (channels[line.call] || operations[line.call]?.answer.stream) carrier = last;
      else if (carrier && !carrier.end && carrier.steps.length > 0) carrier.steps.push({ inner: last });
    } else if ("status" in line && last) {
      last.answer = line;
      if (carrier === last) carrier = undefined;
    } else if ("wire" in line && carrier) carrier.steps.push(stepOf(line));
    else if ("end" in line && carrier) {
      carrier.end = { from: line.from, how: line.end };
      carrier = undefined;
    }
  }
  for (const recorded of all) reactions(samples, recorded);
  return all;
}

function stepOf({ from, wire, message, read, unknown }: Sent): TranscriptStep {
  const known = message !== undefined && !unknown;
  return {
    from,
    wire,
    ...(known && { message: message as JsonMessage }),
    read: read === true,
    reaction: false,
    heard: from === "client" && known,
  };
}

/** Marks what a server does by the contract alone, without its handler. */
function reactions(samples: Samples, { call, steps }: TranscriptCall): void {
  const channel = samples.contract.channels[call.call];
  if (!channel) return;
  const asks = new OpenAsks(samples.contract, "client");
  for (const [index, step] of steps.entries()) {
    if ("inner" in step) continue;
    const { from, message } = step;
    if (from === "client") {
      if (message) asks.open(message);
      continue;
    }
    if (!message) continue;
    const before = steps[index - 1];
    const afterUnknown =
      message.type === channel.fault && before && "wire" in before && before.from === "client" && !before.message;
    const isBusy = samples.contract.exchanges?.some(({ busy, by }) => by === "client" && busy === message.type);
    asks.answer(message);
    if (!afterUnknown && !isBusy) continue;
    steps[index] = { ...step, reaction: true, ...(isBusy && { busy: true }) };
    if (isBusy && before && "wire" in before) steps[index - 1] = { ...before, heard: false, busy: true };
  }
}

/** The documented form of what a transcript's server answered. */
export function answerOf({ call, answer }: TranscriptCall): Json {
  if (answer === undefined) return null;
  if (answer.answer !== undefined) return answer.answer;
  try {
    return JSON.parse(answer.body) as Json;
  } catch {
    return answer.body === "" ? null : call.call && answer.body;
  }
}
