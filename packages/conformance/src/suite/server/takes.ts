import { unfault } from "@parlance/wire";
import { equal, meet, type ServerCase, Unmet } from "../case.js";
import type { Kit } from "../kit.js";
import type { Act, ServerStep } from "../script.js";
import type { Asking } from "../stage.js";
import { answerOf, type Take } from "../take.js";
import { meetAnswer } from "./operations.js";
import { meetMessage, nextMessage, openStream } from "./read.js";

/** The calls of the transcripts: requests, bodies and messages as they stand there. */
export function takeCase(kit: Kit, take: Take): ServerCase | undefined {
  const { call, name, at, answer } = take;
  if (kit.contract.channels[call.call]) return channelTake(kit, take);
  if (take.end?.how === "cut") return undefined;
  const operation = kit.contract.operations[call.call];
  if (!operation || (operation.answer.stream && !answer)) return operation && streamTake(kit, take);
  if (!answer) return undefined;
  const isEmpty = (operation.answer.json ?? operation.answer.text) === undefined;
  return {
    id: `server/transcript/${name}`,
    side: "server",
    level: "must",
    title: `the call of ${at} is answered as there`,
    at,
    kill: answer.status >= 400 ? "fault-status" : isEmpty ? "alter-input" : "alter-answer",
    script: [actOf(kit, take)],
    async run(stage) {
      const came = await stage.request(askingOf(take));
      if (answer.status >= 400) {
        const { code } = unfault(kit.contract, answer.status, answer.body);
        meet(came.status === answer.status, `status ${answer.status}`, `${came.status} ${came.text}`);
        const isOwn = kit.contract.fault.codes?.[code] !== undefined;
        const read = unfault(kit.contract, came.status, came.text);
        meet(!isOwn || read.code === code, `the code ${code}`, came.text);
      } else meetAnswer(kit, call.call, answerOf(take), came);
      const [called] = (await stage.report()).filter((one) => one.call === call.call);
      if (called)
        meet(equal(called.input, call.input), `the handler to be given ${JSON.stringify(call.input)}`, called.input);
    },
  };
}

function askingOf({ call: { request } }: Take): Asking {
  const { method, target, body } = request;
  return {
    method,
    target,
    headers: body === undefined ? {} : { "Content-Type": "application/json" },
    ...(body !== undefined && { body }),
  };
}

/** What the handler of an operation without a stream does. */
function actOf(kit: Kit, take: Take): Act {
  const { call, answer } = take;
  if (answer === undefined || answer.status < 400) return { call: call.call, steps: [{ answer: answerOf(take) }] };
  const { code, message, details, recoverable } = unfault(kit.contract, answer.status, answer.body);
  const known = kit.contract.fault.codes?.[code] !== undefined;
  const refuse = {
    status: answer.status,
    text: message,
    ...(known && { code }),
    ...(details !== undefined && { details }),
    ...(recoverable !== undefined && { recoverable }),
  };
  return { call: call.call, steps: [{ refuse }] };
}

function streamTake(kit: Kit, take: Take): ServerCase | undefined {
  const { call, name, at, steps, end } = take;
  const sent = steps.flatMap((step) => ("take" in step || !step.message ? [] : [step.message]));
  if (sent.length === 0) return undefined;
  const acts = steps.flatMap((step) => ("take" in step ? [actOf(kit, step.take)] : []));
  const script: ServerStep[] = steps.flatMap((step): ServerStep[] =>
    "take" in step ? [{ call: step.take.call.call }] : step.message ? [{ send: step.message }] : [],
  );
  const isOver = end?.how === "done" && kit.ends(call.call);
  return {
    id: `server/transcript/${name}`,
    side: "server",
    level: "must",
    title: `the stream of ${at} comes as there`,
    at,
    kill: "drop-message",
    script: [{ call: call.call, steps: isOver ? script : [...script, { hold: true }] }, ...acts],
    async run(stage) {
      const { opened, messages } = await openStream(kit, stage, call.call, askingOf(take));
      for (const step of steps)
        if ("take" in step) await stage.request(askingOf(step.take));
        else if (step.message) await messages.meet([step.message]);
      opened.abort();
    },
  };
}

/** A channel of a transcript. */
function channelTake(kit: Kit, take: Take): ServerCase | undefined {
  const { call, name, at } = take;
  // Whether the first ask is still open when the second comes is the network's chance: the cases of exchanges hold it open.
  const steps = take.steps.filter((step) => "take" in step || !step.busy);
  if (take.answer || take.end?.how === "cut" || !steps.some((step) => "wire" in step && step.from === "server"))
    return undefined;
  const first = steps.flatMap((step) =>
    "wire" in step && step.from === "server" && step.message ? [step.message] : [],
  )[0];
  const { open } = kit.contract.channels[call.call]!;
  // A part of a conversation that real peers held: no server begins with it.
  if (open?.server !== undefined && first?.type !== open.server) return undefined;
  const script: ServerStep[] = steps.flatMap((step): ServerStep[] => {
    if ("take" in step) return [{ call: step.take.call.call }];
    if (step.from === "client") return step.heard ? [{ receive: step.message!.type }] : [];
    return step.message && !step.reaction ? [{ send: step.message }] : [];
  });
  const acts = steps.flatMap((step) => ("take" in step ? [actOf(kit, step.take)] : []));
  return {
    id: `server/transcript/${name}`,
    side: "server",
    level: "must",
    title: `the conversation of ${at} is held as there`,
    at,
    kill: "drop-message",
    script: [{ call: call.call, steps: [...script, { hold: true }] }, ...acts],
    async run(stage) {
      const frames = await stage.socket(askingOf(take));
      if ("status" in frames) throw new Unmet("a WebSocket to open (101)", `${frames.status} ${frames.text}`);
      try {
        for (const step of steps) {
          if ("take" in step) await stage.request(askingOf(step.take));
          else if (step.from === "client") frames.send(step.wire);
          else if (step.reaction) {
            const { type } = await nextMessage(kit, call.call, frames);
            meet(type === step.message!.type, step.message!.type, type);
          } else if (step.message) await meetMessage(kit, call.call, frames, step.message);
        }
      } finally {
        frames.cut();
      }
    },
  };
}
