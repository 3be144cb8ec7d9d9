import type { ClientCase } from "../case.js";
import { type Lenient, mutantsOf, paramsMutants } from "../mutant.js";
import {
  anyRequest,
  CANCELLED,
  cancelOf,
  errorOf,
  Ids,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  methodsOf,
  PARSE_ERROR,
  resultOf,
  results,
  type Sent,
  UNKNOWN_METHOD,
} from "../rpc.js";
import type { Samples } from "../samples.js";
import { nextMessage } from "../server/read.js";
import type { ClientStep, JsonMessage } from "../steps.js";
import type { Frames } from "../tested.js";
import { accepting, meetError, meetFrames, meetHeard } from "./read.js";

interface Play {
  readonly id: string;
  readonly title: string;
  readonly at: string;
  readonly kill: string;
  readonly steps: readonly ClientStep[];
  readonly serve: (frames: Frames) => Promise<void> | void;
  readonly messages?: readonly JsonMessage[];
  readonly error?: "violation";
}

function methodCase(samples: Samples, name: string, { steps, serve, messages, error, ...about }: Play): ClientCase {
  return {
    ...about,
    id: `client/${name}/${about.id}`,
    side: "client",
    level: "must",
    async run(peer) {
      const call = { operation: name, input: samples.input(name), steps };
      const told = await peer.call(
        call,
        accepting(samples, name, async (frames) => serve(frames)),
      );
      if (messages) meetFrames(told, messages);
      meetError(told, error);
    },
  };
}

/** The methods of a channel: requests and notifications in both directions, errors, and a cancel of the server. */
export async function methodCases(samples: Samples, lenient: Lenient, name: string): Promise<ClientCase[]> {
  const fromServer = methodsOf(samples, "server");
  const fromClient = methodsOf(samples, "client");
  const cases = [
    ...fromServer.flatMap((method) => [
      ...delivered(samples, name, method),
      ...(method.isRequest ? replies(samples, name, method) : []),
    ]),
    ...fromClient.flatMap((method) => [
      ...sent(samples, name, method),
      ...(method.isRequest ? answers(samples, name, method) : []),
    ]),
    ...errors(samples, name),
    ...badFrames(samples, name),
    ...cancelled(samples, name),
  ];
  for (const method of fromServer) cases.push(...(await params(samples, lenient, name, method)));
  for (const method of fromClient)
    if (method.isRequest) cases.push(...(await badResults(samples, lenient, name, method)));
  return cases;
}

const placeOf = (method: string) => `contract.json#/methods/${method.replaceAll("/", "~1")}`;
const CLOSE: ClientStep = { close: true };

function delivered(samples: Samples, name: string, { name: type }: Sent): ClientCase[] {
  return samples.said(name, "server", type).map(({ value, name: which }) =>
    methodCase(samples, name, {
      id: `message/${type}/${which}`,
      title: `${name} delivers ${type}`,
      at: placeOf(type),
      kill: "alter-told",
      steps: [{ receive: 1 }, CLOSE],
      serve: (frames) => frames.send(samples.frame(name, "server", value)),
      messages: [value],
    }),
  );
}

function replies(samples: Samples, name: string, method: Sent): ClientCase[] {
  const question = samples.example(name, "server", method.name)!;
  return results(samples, method).map(({ value, at, name: which }) => {
    const reply = resultOf(question, value);
    return methodCase(samples, name, {
      id: `reply/${method.name}/${which}`,
      title: `${method.name} is answered with the result of its handler`,
      at,
      kill: "alter-sent",
      steps: [{ receive: 1 }, { send: reply }],
      async serve(frames) {
        frames.send(samples.frame(name, "server", question));
        await meetHeard(samples, name, frames, reply);
        frames.close(1000);
      },
    });
  });
}

function sent(samples: Samples, name: string, { name: type }: Sent): ClientCase[] {
  return samples.said(name, "client", type).map(({ value, name: which }) =>
    methodCase(samples, name, {
      id: `input/${type}/${which}`,
      title: `${name} sends ${type} as it was given`,
      at: placeOf(type),
      kill: "alter-sent",
      steps: [{ send: value }],
      async serve(frames) {
        const came = await nextMessage(samples, name, frames, "client");
        const { id, ...rest } = came;
        new Ids().meet(value, came);
        // Nothing may be added either.
        const { id: _, ...given } = value;
        new Ids().meet(rest as JsonMessage, given as JsonMessage);
        frames.close(1000);
      },
    }),
  );
}

/** Answers the request that the client sends next. */
async function answer(samples: Samples, name: string, frames: Frames, made: (asked: JsonMessage) => JsonMessage) {
  const asked = await nextMessage(samples, name, frames, "client");
  frames.send(samples.frame(name, "server", made(asked)));
}

function answers(samples: Samples, name: string, method: Sent): ClientCase[] {
  const question = samples.example(name, "client", method.name)!;
  return results(samples, method).map(({ value, at, name: which }) =>
    methodCase(samples, name, {
      id: `answer/${method.name}/${which}`,
      title: `${method.name} returns its result`,
      at,
      kill: "alter-told",
      steps: [{ send: question }, { receive: 1 }, CLOSE],
      serve: (frames) => answer(samples, name, frames, (asked) => resultOf(asked, value)),
      messages: [resultOf(question, value)],
    }),
  );
}

function errors(samples: Samples, name: string): ClientCase[] {
  const question = anyRequest(samples, name, "client");
  return Object.keys(samples.contract.errors ?? {}).map((code) =>
    methodCase(samples, name, {
      id: `error/${code}`,
      title: `a request that is refused with ${code} fails with this error`,
      at: `contract.json#/errors/${code}`,
      kill: "alter-told",
      steps: [{ send: question }, { receive: 1 }, CLOSE],
      serve: (frames) => answer(samples, name, frames, (asked) => errorOf(asked, Number(code))),
      messages: [errorOf(question, Number(code))],
    }),
  );
}

/** A notification of the server, which shows that the channel goes on. */
const usual = (samples: Samples, name: string): JsonMessage =>
  samples.example(name, "server", methodsOf(samples, "server").find(({ isRequest }) => !isRequest)!.name)!;

/** Frames that are no request of the contract: each is answered, and the channel goes on. */
function badFrames(samples: Samples, name: string): ClientCase[] {
  const after = usual(samples, name);
  const strange = { jsonrpc: "2.0", id: "conformance-1", method: UNKNOWN_METHOD };
  const frames: [id: string, what: string, frame: string, answer: JsonMessage][] = [
    ["parse-error", "a frame that is not JSON", '{"', errorOf({ type: "", id: null }, PARSE_ERROR)],
    [
      "unknown-method",
      "a method that nobody has",
      JSON.stringify(strange),
      errorOf(strange as never, METHOD_NOT_FOUND),
    ],
  ];
  return frames.map(([id, what, frame, answer]) =>
    methodCase(samples, name, {
      id,
      title: `${name} answers ${what} with ${(answer.error as { code: number }).code}, and goes on`,
      at: samples.placeOf(name),
      kill: "no-error",
      steps: [{ receive: 1 }, CLOSE],
      async serve(frames) {
        frames.send(frame);
        new Ids().meet(answer, await nextMessage(samples, name, frames, "client"));
        frames.send(samples.frame(name, "server", after));
      },
      messages: [after],
    }),
  );
}

/** A request of the server that it cancels by its id. */
function cancelled(samples: Samples, name: string): ClientCase[] {
  const method = methodsOf(samples, "server").find(({ isRequest, cancel }) => isRequest && cancel === undefined);
  const question = method && samples.example(name, "server", method.name);
  const cancel = question && cancelOf(samples, question);
  if (!cancel) return [];
  return [
    methodCase(samples, name, {
      id: `cancel/${method!.name}`,
      title: `${method!.name} ends as cancelled after ${cancel.type}`,
      at: placeOf(method!.name),
      kill: "no-error",
      steps: [{ receive: 1 }],
      async serve(frames) {
        frames.send(samples.frame(name, "server", question!));
        frames.send(samples.frame(name, "server", cancel));
        new Ids().meet(errorOf(question!, CANCELLED), await nextMessage(samples, name, frames, "client"));
        frames.close(1000);
      },
      messages: [question!],
    }),
  ];
}

/** Params that break their schema: a request is answered with the error for that, a notification does not reach its handler. */
async function params(samples: Samples, lenient: Lenient, name: string, method: Sent): Promise<ClientCase[]> {
  const good = samples.example(name, "server", method.name)!;
  const found = await paramsMutants(samples, lenient, name, "server", method.name);
  return found.map(({ value, keyword, at, name: which }) =>
    methodCase(samples, name, {
      id: `schema/${which}`,
      title: `${method.name} refuses params that break ${keyword} at ${at}`,
      at,
      kill: `keyword:${keyword}`,
      steps: [{ receive: 1 }, CLOSE],
      async serve(frames) {
        frames.send(JSON.stringify(value));
        if (method.isRequest)
          new Ids().meet(errorOf(good, INVALID_PARAMS), await nextMessage(samples, name, frames, "client"));
        frames.send(samples.frame(name, "server", good));
      },
      messages: [good],
    }),
  );
}

/** Results that break their schema. */
async function badResults(samples: Samples, lenient: Lenient, name: string, method: Sent): Promise<ClientCase[]> {
  const question = samples.example(name, "client", method.name)!;
  const said = results(samples, method).map(({ value }) => value);
  const found = await mutantsOf(samples, method.result!, said, lenient, (one, value) =>
    one.isFlawed(method.result!, value),
  );
  return found.map(({ value, keyword, at, name: which }) =>
    methodCase(samples, name, {
      id: `schema/${which}`,
      title: `${method.name} is violated by a result that breaks ${keyword} at ${at}`,
      at,
      kill: `keyword:${keyword}`,
      steps: [{ send: question }, { receive: 1 }],
      async serve(frames) {
        await answer(samples, name, frames, (asked) => resultOf(asked, value));
        frames.close(1000);
      },
      error: "violation",
    }),
  );
}
