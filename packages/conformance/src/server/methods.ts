import type { ServerCase } from "../case.js";
import { equal, meet } from "../case.js";
import {
  anyRequest,
  CANCELLED,
  cancelOf,
  ERROR,
  errorOf,
  Ids,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  methodsOf,
  own,
  PARSE_ERROR,
  RESULT,
  resultOf,
  results,
  type Sent,
  UNKNOWN_METHOD,
} from "../rpc.js";
import type { Samples } from "../samples.js";
import type { JsonMessage, ServerStep } from "../steps.js";
import type { Frames, TestedServer } from "../tested.js";
import { channelCase, meetReceived } from "./channel-case.js";
import { meetAnswers } from "./exchanges.js";
import { meetOpen, untilPong } from "./frames.js";
import { meetMessage, nextMessage, shown } from "./read.js";

const HOLD: ServerStep = { hold: true };

/** The methods of a channel: requests and notifications in both directions, errors, and cancels. */
export function methodCases(samples: Samples, name: string): ServerCase[] {
  return [
    ...methodsOf(samples, "client").flatMap((method) => [
      ...inputs(samples, name, method),
      ...(method.isRequest ? answers(samples, name, method) : []),
      ...cancels(samples, name, method),
    ]),
    ...methodsOf(samples, "server").flatMap((method) => [
      ...messages(samples, name, method),
      ...(method.isRequest ? asks(samples, name, method) : []),
    ]),
    ...once(samples, name),
    ...errors(samples, name),
    ...badFrames(samples, name),
  ];
}

/** A case that begins with a request of the client: a server with methods sends nothing before. */
function methodCase(
  samples: Samples,
  name: string,
  { steps, talk, first = anyRequest(samples, name, "client"), ...about }: MethodCase,
): ServerCase {
  return channelCase(samples, name, {
    ...about,
    act: { call: name, steps: [{ receive: first.type }, ...steps] },
    async talk(frames, peer) {
      frames.send(samples.frame(name, "client", first));
      await talk(frames, peer);
    },
  });
}

interface MethodCase {
  readonly id: string;
  readonly title: string;
  readonly at: string;
  readonly kill: string;
  /** After the first message has come. */
  readonly steps: readonly ServerStep[];
  readonly first?: JsonMessage;
  talk(frames: Frames, peer: TestedServer): Promise<void>;
}

const placeOf = (method: string) => `contract.json#/methods/${method.replaceAll("/", "~1")}`;

function inputs(samples: Samples, name: string, { name: type, params }: Sent): ServerCase[] {
  return samples.said(name, "client", type).map(({ value, name: which }) => {
    const first = own(value);
    return methodCase(samples, name, {
      id: `input/${type}/${which}`,
      title: `the handler of ${type} gets what was sent`,
      at: params === undefined ? placeOf(type) : (samples.examples(params)[Number(which)]?.at ?? placeOf(type)),
      kill: "alter-received",
      first,
      steps: [HOLD],
      talk: (_, peer) => meetReceived(peer, name, first),
    });
  });
}

function answers(samples: Samples, name: string, method: Sent): ServerCase[] {
  const first = own(samples.example(name, "client", method.name)!);
  return results(samples, method).map(({ value, at, name: which }) => {
    const answer = resultOf(first, value);
    return methodCase(samples, name, {
      id: `answer/${method.name}/${which}`,
      title: `${method.name} is answered with the result of its handler`,
      at,
      kill: "alter-message",
      first,
      steps: [{ send: answer }, HOLD],
      async talk(frames) {
        const came = await nextMessage(samples, name, frames);
        meet(equal(answer, came), JSON.stringify(answer), came);
      },
    });
  });
}

function cancels(samples: Samples, name: string, method: Sent): ServerCase[] {
  const first = own(samples.example(name, "client", method.name)!);
  const cancel = method.isRequest ? cancelOf(samples, first) : undefined;
  if (!cancel) return [];
  const { cancelled } = method;
  const end = cancelled === undefined ? errorOf(first, CANCELLED) : resultOf(first, cancelled);
  return [
    methodCase(samples, name, {
      id: `cancel/${method.name}`,
      title: `${method.name} ends as cancelled after ${cancel.type}`,
      at: placeOf(method.name),
      kill: "no-cancel",
      first,
      steps: [HOLD],
      async talk(frames) {
        frames.send(samples.frame(name, "client", cancel));
        new Ids().meet(end, await nextMessage(samples, name, frames));
      },
    }),
  ];
}

function messages(samples: Samples, name: string, { name: type, isRequest }: Sent): ServerCase[] {
  return samples.said(name, "server", type).map(({ value, name: which }) =>
    methodCase(samples, name, {
      id: `message/${type}/${which}`,
      title: `${type} is sent as its handler gave it`,
      at: placeOf(type),
      kill: "alter-message",
      steps: [isRequest ? { ask: value } : { send: value }, HOLD],
      talk: async (frames) => new Ids().meet(value, await nextMessage(samples, name, frames)),
    }),
  );
}

/** Requests of the server, by the ids that it makes. */
function asks(samples: Samples, name: string, method: Sent): ServerCase[] {
  const question = samples.example(name, "server", method.name)!;
  const one: JsonMessage = { ...question, id: "conformance-1" };
  const two: JsonMessage = { ...question, id: "conformance-2" };
  const said = results(samples, method);
  const holds = (
    id: string,
    title: string,
    kill: string,
    questions: readonly JsonMessage[],
    replies: readonly JsonMessage[],
    expected: readonly JsonMessage[],
  ) =>
    methodCase(samples, name, {
      id,
      title,
      at: placeOf(method.name),
      kill,
      steps: [...questions.map((ask) => ({ ask })), HOLD],
      async talk(frames, peer) {
        const ids = new Ids();
        for (const message of questions) ids.meet(message, await nextMessage(samples, name, frames));
        for (const message of replies) frames.send(samples.frame(name, "client", ids.answer(message)));
        await meetAnswers(peer, name, expected);
      },
    });
  const settled = said.map(({ value, name: which }) => {
    const title = `the handler that asked ${method.name} gets its result`;
    const expected = [{ type: RESULT, result: value }];
    return holds(`ask/${method.name}/${which}`, title, "alter-answers", [one], [resultOf(one, value)], expected);
  });
  const [first] = said;
  if (!first) return [];
  const yes = resultOf(one, first.value);
  const no = errorOf(two, INTERNAL_ERROR);
  const both: JsonMessage[] = [
    { type: RESULT, result: first.value },
    { type: ERROR, error: { code: INTERNAL_ERROR, message: "refused" } },
  ];
  const order = `answers to ${method.name} settle the request whose id they repeat, in any order`;
  const late = `an answer with the id of no request settles no ${method.name}`;
  const strange = errorOf({ ...question, id: "conformance-3" }, INTERNAL_ERROR);
  return [
    ...settled,
    holds(`by-id/${method.name}`, order, "ignore-key", [one, two], [no, yes], both),
    holds(`late/${method.name}`, late, "ignore-key", [one], [strange, yes], both.slice(0, 1)),
  ];
}

/** Each notification once: a channel has no end that would show what is sent behind it. */
function once(samples: Samples, name: string): ServerCase[] {
  const flow = methodsOf(samples, "server").flatMap(({ name: type, isRequest }) =>
    isRequest ? [] : (samples.example(name, "server", type) ?? []),
  );
  if (flow.length === 0) return [];
  return [
    methodCase(samples, name, {
      id: "once",
      title: `${name} sends the notifications of its handler once, and no others`,
      at: samples.placeOf(name),
      kill: "send-twice",
      steps: flow.map((send) => ({ send })),
      async talk(frames) {
        for (const message of flow) await meetMessage(samples, name, frames, message);
        for (const frame of await untilPong(frames))
          meet(!("text" in frame), `nothing after ${flow.at(-1)!.type}`, shown(frame));
      },
    }),
  ];
}

/** The errors of the contract, and the one of a handler that fails. */
function errors(samples: Samples, name: string): ServerCase[] {
  const first = anyRequest(samples, name, "client");
  const declared = Object.keys(samples.contract.errors ?? {}).map((code) => {
    const answer = errorOf(first, Number(code));
    return methodCase(samples, name, {
      id: `error/${code}`,
      title: `a handler that refuses with ${code} is answered with this error`,
      at: `contract.json#/errors/${code}`,
      kill: "alter-message",
      first,
      steps: [{ send: answer }, HOLD],
      talk: (frames) => meetMessage(samples, name, frames, answer),
    });
  });
  const failure = methodCase(samples, name, {
    id: "failure",
    title: `a handler that fails is answered with ${INTERNAL_ERROR}`,
    at: samples.placeOf(name),
    kill: "hang-on-failure",
    first,
    steps: [{ fail: true }],
    talk: async (frames) => new Ids().meet(errorOf(first, INTERNAL_ERROR), await nextMessage(samples, name, frames)),
  });
  return [...declared, failure];
}

/** Frames that are no request of the contract: each is answered, and the channel goes on. */
function badFrames(samples: Samples, name: string): ServerCase[] {
  const first = anyRequest(samples, name, "client");
  const text = samples.frame(name, "client", first);
  const nobody = { type: "", id: null } as const;
  const strange = { jsonrpc: "2.0", id: "conformance-1", method: UNKNOWN_METHOD };
  const frames: [id: string, what: string, kill: string, frame: string, answer: JsonMessage][] = [
    ["parse-error", "a frame that is not JSON", "lenient-frames", '{"', errorOf(nobody, PARSE_ERROR)],
    ["batch", "a batch", "any-batch", `[${text}]`, errorOf(nobody, INVALID_REQUEST)],
    [
      "unknown-method",
      "a method that nobody has",
      "refuse-unknown",
      JSON.stringify(strange),
      errorOf(strange as never, METHOD_NOT_FOUND),
    ],
  ];
  return frames.map(([id, what, kill, frame, answer]) =>
    channelCase(samples, name, {
      id,
      title: `${name} answers ${what} with ${(answer.error as { code: number }).code}, and goes on`,
      kill,
      act: { call: name, steps: [{ receive: first.type }, HOLD] },
      async talk(frames, peer) {
        frames.send(frame);
        new Ids().meet(answer, await nextMessage(samples, name, frames));
        frames.send(text);
        await meetReceived(peer, name, first);
        await meetOpen(frames);
      },
    }),
  );
}
