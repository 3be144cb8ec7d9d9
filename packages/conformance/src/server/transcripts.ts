import { unfault } from "@parlance/wire";
import { equal, meet, type ServerCase, Unmet } from "../case.js";
import { ERROR, Ids, RESULT } from "../rpc.js";
import type { Samples } from "../samples.js";
import type { Act, ServerStep } from "../steps.js";
import type { Asking } from "../tested.js";
import { answerOf, type TranscriptCall } from "../transcript-call.js";
import { meetAnswer } from "./operations.js";
import { meetMessage, nextMessage, openStream } from "./read.js";

/** The calls of the transcripts: requests, bodies and messages as they stand there. */
export function transcriptCase(samples: Samples, recorded: TranscriptCall): ServerCase | undefined {
  const { call, at, answer } = recorded;
  if (samples.contract.channels[call.call])
    return (samples.contract.methods ? methodsCase : channelCase)(samples, recorded);
  if (recorded.end?.how === "cut") return undefined;
  const operation = samples.contract.operations[call.call];
  if (!operation || (operation.answer.stream && !answer)) return operation && streamCase(samples, recorded);
  if (!answer) return undefined;
  const isEmpty = (operation.answer.json ?? operation.answer.text) === undefined;
  return {
    ...aboutCall(recorded),
    title: `the call of ${at} is answered as there`,
    kill: answer.status >= 400 ? "fault-status" : isEmpty ? "alter-input" : "alter-answer",
    acts: [actOf(samples, recorded)],
    async run(peer) {
      const came = await peer.request(askingOf(recorded));
      if (answer.status >= 400) {
        const { code } = unfault(samples.contract, answer.status, answer.body);
        meet(came.status === answer.status, `status ${answer.status}`, `${came.status} ${came.text}`);
        const isOwn = samples.contract.fault.codes?.[code] !== undefined;
        const read = unfault(samples.contract, came.status, came.text);
        meet(!isOwn || read.code === code, `the code ${code}`, came.text);
      } else meetAnswer(samples, call.call, answerOf(recorded), came);
      const [called] = (await peer.report()).filter((one) => one.call === call.call);
      if (called)
        meet(equal(called.input, call.input), `the handler to be given ${JSON.stringify(call.input)}`, called.input);
    },
  };
}

function aboutCall({ name, at }: TranscriptCall) {
  return { id: `server/transcript/${name}`, side: "server", level: "must", at } as const;
}

/** What the handlers of the operations do that are called meanwhile. */
function innerActs(samples: Samples, { steps }: TranscriptCall): Act[] {
  return steps.flatMap((step) => ("inner" in step ? [actOf(samples, step.inner)] : []));
}

function askingOf({ call: { request } }: TranscriptCall): Asking {
  const { method, target, body } = request;
  return {
    method,
    target,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    ...(body !== undefined && { body }),
  };
}

/** What the handler of an operation without a stream does. */
function actOf(samples: Samples, recorded: TranscriptCall): Act {
  const { call, answer } = recorded;
  if (answer === undefined || answer.status < 400) return { call: call.call, steps: [{ answer: answerOf(recorded) }] };
  const { code, message, details, recoverable } = unfault(samples.contract, answer.status, answer.body);
  const known = samples.contract.fault.codes?.[code] !== undefined;
  const refuse = {
    status: answer.status,
    text: message,
    ...(known && { code }),
    ...(details !== undefined && { details }),
    ...(recoverable !== undefined && { recoverable }),
  };
  return { call: call.call, steps: [{ refuse }] };
}

function streamCase(samples: Samples, recorded: TranscriptCall): ServerCase | undefined {
  const { call, at, steps, end } = recorded;
  const sent = steps.flatMap((step) => ("inner" in step || !step.message ? [] : [step.message]));
  if (sent.length === 0) return undefined;
  const own: ServerStep[] = steps.flatMap((step): ServerStep[] =>
    "inner" in step ? [{ call: step.inner.call.call }] : step.message ? [{ send: step.message }] : [],
  );
  const isOver = end?.how === "done" && samples.ends(call.call);
  return {
    ...aboutCall(recorded),
    title: `the stream of ${at} comes as there`,
    kill: "drop-message",
    acts: [{ call: call.call, steps: isOver ? own : [...own, { hold: true }] }, ...innerActs(samples, recorded)],
    async run(peer) {
      const { opened, messages } = await openStream(samples, peer, call.call, askingOf(recorded));
      for (const step of steps)
        if ("inner" in step) await peer.request(askingOf(step.inner));
        else if (step.message) await messages.meet([step.message]);
      opened.abort();
    },
  };
}

/** A channel with methods of a transcript. What the runtime answers by itself is not sent by a handler. */
function methodsCase(samples: Samples, { call, name, at, steps }: TranscriptCall): ServerCase | undefined {
  const cancel = samples.contract.rpc?.cancel;
  const lines = steps.flatMap((step) => ("wire" in step && step.message && step.message.id !== null ? [step] : []));
  const [first] = lines;
  if (first?.from !== "client") return undefined;
  const own = lines.flatMap(({ from, message }): ServerStep[] => {
    const { type } = message!;
    const isAnswer = type === RESULT || type === ERROR;
    if (from === "client") return isAnswer || type === cancel ? [] : [{ receive: type }];
    return ["id" in message! && !isAnswer ? { ask: message } : { send: message! }];
  });
  return {
    id: `server/transcript/${name}`,
    side: "server",
    level: "must",
    title: `the conversation of ${at} is held as there`,
    at,
    kill: "drop-message",
    acts: [{ call: call.call, steps: [...own, { hold: true }] }],
    async run(peer) {
      const frames = await peer.socket(askingOf({ call } as TranscriptCall));
      if ("status" in frames) throw new Unmet("a WebSocket to open (101)", `${frames.status} ${frames.text}`);
      const ids = new Ids();
      try {
        for (const { from, message } of lines)
          if (from === "client") frames.send(samples.frame(call.call, "client", ids.answer(message!)));
          else ids.meet(message!, await nextMessage(samples, call.call, frames));
      } finally {
        frames.cut();
      }
    },
  };
}

/** A channel of a transcript. */
function channelCase(samples: Samples, recorded: TranscriptCall): ServerCase | undefined {
  const { call, at } = recorded;
  // Whether the first ask is still open when the second comes is the network's chance: the cases of exchanges hold it open.
  const steps = recorded.steps.filter((step) => "inner" in step || !step.busy);
  if (recorded.answer || recorded.end?.how === "cut" || !steps.some((step) => "wire" in step && step.from === "server"))
    return undefined;
  const first = steps.flatMap((step) =>
    "wire" in step && step.from === "server" && step.message ? [step.message] : [],
  )[0];
  const { open } = samples.contract.channels[call.call]!;
  // A part of a conversation that real peers held: no server begins with it.
  if (open?.server !== undefined && first?.type !== open.server) return undefined;
  const own: ServerStep[] = steps.flatMap((step): ServerStep[] => {
    if ("inner" in step) return [{ call: step.inner.call.call }];
    if (step.from === "client") return step.heard ? [{ receive: step.message!.type }] : [];
    return step.message && !step.reaction ? [{ send: step.message }] : [];
  });
  return {
    ...aboutCall(recorded),
    title: `the conversation of ${at} is held as there`,
    kill: "drop-message",
    acts: [{ call: call.call, steps: [...own, { hold: true }] }, ...innerActs(samples, recorded)],
    async run(peer) {
      const frames = await peer.socket(askingOf(recorded));
      if ("status" in frames) throw new Unmet("a WebSocket to open (101)", `${frames.status} ${frames.text}`);
      try {
        for (const step of steps) {
          if ("inner" in step) await peer.request(askingOf(step.inner));
          else if (step.from === "client") frames.send(step.wire);
          else if (step.reaction) {
            const { type } = await nextMessage(samples, call.call, frames);
            meet(type === step.message!.type, step.message!.type, type);
          } else if (step.message) await meetMessage(samples, call.call, frames, step.message);
        }
      } finally {
        frames.cut();
      }
    },
  };
}
