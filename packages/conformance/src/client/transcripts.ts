import { Queue } from "@parlance/wire/link";
import { type ClientCase, meet, Unmet } from "../case.js";
import { Ids } from "../rpc.js";
import type { Samples } from "../samples.js";
import { nextMessage } from "../server/read.js";
import type { ClientStep, JsonMessage } from "../steps.js";
import type { Exchange } from "../tested.js";
import { answerOf, type TranscriptCall, type TranscriptStep } from "../transcript-call.js";
import {
  accepting,
  beginStream,
  meetError,
  meetFirst,
  meetFrames,
  meetHeard,
  meetMessages,
  meetRequest,
} from "./read.js";

/** The calls of the transcripts, from the server's side: the exact bytes as they stand there. */
export function transcriptCase(samples: Samples, recorded: TranscriptCall): ClientCase | undefined {
  const { call, name, at } = recorded;
  const about = { id: `client/transcript/${name}`, side: "client", level: "must", at } as const;
  const input = call.input;
  if (recorded.answer) {
    const { status } = recorded.answer;
    const { json, text } = samples.contract.operations[call.call]?.answer ?? {};
    const isEmpty = status < 400 && (json ?? text) === undefined;
    if (isEmpty && call.read) return undefined;
    return {
      ...about,
      title: `the answer of ${at} is read as there`,
      kill: status >= 400 ? "lose-status" : isEmpty ? "alter-request" : "alter-told",
      async run(peer) {
        const told = await peer.call({ operation: call.call, input, steps: [] }, async (exchange) => {
          if (!call.read) meetRequest(samples, call.call, input, exchange);
          answerAsRecorded(recorded, exchange);
        });
        meetError(told, status >= 400 ? "refusal" : undefined);
        if (status >= 400) meet(told.error!.status === status, `status ${status}`, told.error);
        else if (!isEmpty) meetMessages(told, [answerOf(recorded)]);
      },
    };
  }
  // The answer to a frame that could not be read belongs to no request.
  const messages = recorded.steps.flatMap((step) =>
    fromServer(step) && step.message && step.message.id !== null ? [step.message] : [],
  );
  if (messages.length === 0) return undefined;
  const isSocket = samples.contract.channels[call.call] !== undefined;
  const isCut = recorded.end?.how === "cut" && recorded.end.from === "server" && !isCancelled(samples, recorded);
  return {
    ...about,
    title: `the conversation of ${at} is read as there`,
    kill: isCut ? "cut-as-end" : "alter-told",
    async run(peer) {
      const steps = stepsOf(samples, recorded);
      const calls = recorded.steps.flatMap((step) => ("inner" in step ? [step.inner] : []));
      const asked: Notices = new Queue({ limit: Number.POSITIVE_INFINITY });
      const talk = (exchange: Exchange) =>
        isSocket ? talkChannel(samples, recorded, exchange, asked) : talkStream(samples, recorded, exchange, asked);
      let begun = false;
      const told = await peer.call({ operation: call.call, input, steps }, async (exchange) => {
        if (begun) {
          const next = calls.shift();
          if (!next) throw new Unmet("no further request", `${exchange.method} ${exchange.target}`);
          meetRequest(samples, next.call.call, next.call.input, exchange);
          answerAsRecorded(next, exchange);
          asked.push(true, 1);
          return;
        }
        if (isSocket && !exchange.isSocket) return accepting(samples, call.call, async () => {})(exchange);
        begun = true;
        if (!isSocket && !call.read) meetRequest(samples, call.call, input, exchange);
        await talk(exchange);
      });
      if (samples.contract.methods) meetFrames(told, messages);
      else (isCut && !isSocket ? meetFirst : meetMessages)(told, messages);
      meetError(told, isCut ? "disconnected" : undefined);
    },
  };
}

/** After the message that cancels, a server may drop the connection: that is an end. */
function isCancelled(samples: Samples, { call, steps }: TranscriptCall): boolean {
  const { cancel } = samples.contract.channels[call.call] ?? {};
  const last = steps
    .flatMap((step) => ("wire" in step && step.from === "client" && step.message ? [step.message] : []))
    .at(-1);
  return cancel !== undefined && last?.type === cancel;
}

type Sent = Extract<TranscriptStep, { readonly wire: string }>;

function fromServer(step: TranscriptStep): step is Sent {
  return "wire" in step && step.from === "server";
}

/** The client under test ends what the transcript does not. */
function endsItself(samples: Samples, { call, end }: TranscriptCall): boolean {
  return (
    end?.from === "server" &&
    (samples.contract.channels[call.call] !== undefined || end.how === "cut" || samples.ends(call.call))
  );
}

/** What the client does: it waits for what comes before each of its own steps. */
function stepsOf(samples: Samples, recorded: TranscriptCall): ClientStep[] {
  const steps: ClientStep[] = [];
  let unread = 0;
  const wait = () => {
    if (unread > 0) steps.push({ receive: unread });
    unread = 0;
  };
  for (const step of recorded.steps) {
    if ("inner" in step) {
      wait();
      steps.push({ call: step.inner.call.call, input: step.inner.call.input });
    } else if (step.from === "server") unread += step.message && step.message.id !== null ? 1 : 0;
    else if (step.message) {
      wait();
      steps.push({ send: step.message });
    }
  }
  if (endsItself(samples, recorded) || endsByMessage(samples, recorded)) return steps;
  wait();
  return [...steps, { close: true }];
}

function endsByMessage(samples: Samples, { call, steps }: TranscriptCall): boolean {
  const { end = [] } = samples.contract.operations[call.call]?.answer.stream ?? {};
  return steps.some((step) => fromServer(step) && step.message !== undefined && end.includes(step.message.type));
}

type Notices = Queue<true>;

async function talkStream(
  samples: Samples,
  { call, steps, end }: TranscriptCall,
  exchange: Exchange,
  asked: Notices,
): Promise<void> {
  beginStream(samples, call.call, exchange);
  for (const step of steps)
    if ("inner" in step) await asked.next();
    else await exchange.write(step.wire);
  if (end?.from !== "server") return;
  if (end.how === "cut") exchange.cut();
  else exchange.end();
}

async function talkChannel(
  samples: Samples,
  { call, steps, end }: TranscriptCall,
  exchange: Exchange,
  asked: Notices,
): Promise<void> {
  const frames = exchange.accept();
  const ids = new Ids();
  for (const step of steps)
    if ("inner" in step) await asked.next();
    else if (step.from === "server") frames.send(withOwnId(samples, ids, step));
    else if (step.message && samples.contract.methods)
      ids.meet(step.message, await nextMessage(samples, call.call, frames, "client"));
    else if (step.message) await meetHeard(samples, call.call, frames, step.message as JsonMessage);
  if (end?.from !== "server") return;
  if (end.how === "cut") frames.cut();
  else frames.close(1000);
}

/** The frame of the transcript. The answer to a request gets the client's own id. */
function withOwnId(samples: Samples, ids: Ids, { wire, message }: Sent): string {
  if (!samples.contract.methods || message === undefined || message.id === undefined) return wire;
  return JSON.stringify({ ...JSON.parse(wire), id: ids.answer(message).id });
}

function answerAsRecorded({ answer }: TranscriptCall, exchange: Exchange): void {
  if (!answer) return exchange.cut();
  exchange.answer(answer.status, answer.type, answer.body);
}
