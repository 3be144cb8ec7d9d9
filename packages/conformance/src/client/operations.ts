import { mediaType } from "@parlance/wire/internal/http";
import { resultOf } from "../carried.js";
import { type ClientCase, meet } from "../case.js";
import { type Lenient, mutantsOf } from "../mutant.js";
import type { Samples } from "../samples.js";
import type { ClientStep } from "../steps.js";
import type { Exchange } from "../tested.js";
import { accepting, answerWith, meetError, meetMessages, meetRequest, openUp, refuse, succeed } from "./read.js";

/** Requests, answers and refusals. */
export async function operationCases(samples: Samples, lenient: Lenient): Promise<ClientCase[]> {
  const names = Object.keys(samples.contract.operations);
  const cases = names.flatMap((name) => [
    ...requests(samples, name),
    ...answers(samples, name),
    ...flaws(samples, name),
    ...refusals(samples, name),
  ]);
  for (const name of names) cases.push(...(await schemas(samples, lenient, name)));
  return [...cases, ...codes(samples, names), ...tokens(samples)];
}

function about(samples: Samples, name: string, id: string) {
  return { id: `client/${name}/${id}`, side: "client", level: "must", at: samples.placeOf(name) } as const;
}

function requests(samples: Samples, name: string): ClientCase[] {
  return samples.inputs(name).map(({ value, at, name: which }) => ({
    ...about(samples, name, `request/${which}`),
    title: `${name} sends the input of ${at}`,
    at,
    kill: "alter-request",
    async run(peer) {
      const hasBody = samples.contract.operations[name]!.body !== undefined;
      await peer.call({ operation: name, input: value, steps: samples.leaving(name) }, async (exchange) => {
        meetRequest(samples, name, value, exchange);
        const type = mediaType(exchange.headers["content-type"]);
        meet(!hasBody || type === "application/json", "Content-Type application/json", type ?? "none");
        await succeed(samples, name, exchange);
      });
    },
  }));
}

function answers(samples: Samples, name: string): ClientCase[] {
  const { answer } = samples.contract.operations[name]!;
  if (answer.stream || answer.binary !== undefined || (answer.json ?? answer.text) === undefined) return [];
  return samples.answers(name).map(({ value, at, name: which }) => ({
    ...about(samples, name, `answer/${which}`),
    title: `${name} returns the value of ${at}`,
    at,
    kill: "alter-told",
    async run(peer) {
      const call = { operation: name, input: samples.input(name), steps: [] };
      const told = await peer.call(call, async (exchange) => answerWith(samples, name, exchange, value));
      meetError(told, undefined);
      meetMessages(told, [resultOf(samples, name, value)]);
    },
  }));
}

/** Invalid answers. */
function flaws(samples: Samples, name: string): ClientCase[] {
  const { answer } = samples.contract.operations[name]!;
  const call = { operation: name, input: samples.input(name), steps: [] };
  const cut: ClientCase = {
    ...about(samples, name, "cut"),
    title: `${name} is disconnected when no answer comes`,
    kill: "cut-as-end",
    async run(peer) {
      meetError(await peer.call(call, async (exchange) => exchange.cut()), "disconnected");
    },
  };
  if (answer.json === undefined) return [cut];
  return [
    cut,
    {
      ...about(samples, name, "malformed-answer"),
      title: `${name} is violated by an answer that is not JSON`,
      kill: "lenient-answer",
      async run(peer) {
        const serve = async (exchange: Parameters<Parameters<typeof peer.call>[1]>[0]) =>
          exchange.answer(answer.status, "application/json", '{"');
        meetError(await peer.call(call, serve), "violation");
      },
    },
  ];
}

const TEXT = "Refused by the conformance suite.";

function refusals(samples: Samples, name: string): ClientCase[] {
  const statuses = Object.keys((samples.prose(name).faults ?? {}) as object);
  const all =
    statuses.length > 0 ? statuses : Object.keys((samples.document.source.faults ?? {}) as object).slice(0, 1);
  return all.map((status) => ({
    ...about(samples, name, `fault/${status}`),
    title: `${name} is refused with ${status} and the server's text`,
    at: `${samples.placeOf(name)}/faults`,
    kill: "lose-status",
    async run(peer) {
      const call = { operation: name, input: samples.input(name), steps: [] };
      const told = await peer.call(call, async (exchange) =>
        refuse(samples, name, exchange, TEXT, { status: Number(status) }),
      );
      meetError(told, "refusal");
      meet(told.error!.status === Number(status), `status ${status}`, told.error);
      meet(told.error!.text === undefined || told.error!.text.includes(TEXT), TEXT, told.error);
    },
  }));
}

function codes(samples: Samples, names: readonly string[]): ClientCase[] {
  const { code: places, codes = {} } = samples.contract.fault;
  const [name] = names;
  if (places === undefined || name === undefined) return [];
  return Object.entries(codes).map(([code, { status = 400 }]) => ({
    ...about(samples, name, `code/${code}`),
    title: `a refusal with the code ${code} keeps it`,
    at: `contract.json#/fault/codes/${code}`,
    kill: "lose-code",
    async run(peer) {
      const call = { operation: name, input: samples.input(name), steps: [] };
      const told = await peer.call(call, async (exchange) => refuse(samples, name, exchange, TEXT, { status, code }));
      meetError(told, "refusal");
      meet(told.error!.code === code, `the code ${code}`, told.error);
    },
  }));
}

async function schemas(samples: Samples, lenient: Lenient, name: string): Promise<ClientCase[]> {
  const { json } = samples.contract.operations[name]!.answer;
  if (json === undefined) return [];
  const examples = samples.examples(json).map(({ value }) => value);
  const refused = (one: Samples, value: unknown) => {
    try {
      one.talk.checkAnswer(name, structuredClone(value));
      return false;
    } catch {
      return true;
    }
  };
  const found = await mutantsOf(samples, json, examples, lenient, refused);
  return found.map(({ value, keyword, at, name: which }) => ({
    ...about(samples, name, `schema/${which}`),
    title: `${name} is violated by an answer that breaks ${keyword} at ${at}`,
    at,
    kill: `keyword:${keyword}`,
    async run(peer) {
      const call = { operation: name, input: samples.input(name), steps: [] };
      meetError(await peer.call(call, async (exchange) => answerWith(samples, name, exchange, value)), "violation");
    },
  }));
}

/** The token of one operation and of each channel: clients open sockets with other code. */
function tokens(samples: Samples): ClientCase[] {
  const { auth, operations, channels } = samples.contract;
  if (auth === undefined) return [];
  const header = (auth.header ?? "Authorization").toLowerCase();
  const value = auth.header === undefined ? "Bearer conformance" : "conformance";
  const meetToken = ({ headers }: Exchange) =>
    // Another token may be the client's own, and a secret.
    meet(headers[header] === value, `${header}: ${value}`, headers[header] === undefined ? "none" : "another value");
  const carries = (name: string, steps: ClientStep[], serve: (exchange: Exchange) => Promise<void>): ClientCase => ({
    ...about(samples, name, "token"),
    title: `${name} carries the token in ${auth.header ?? "Authorization"}`,
    at: "contract.json#/auth",
    kill: "no-token",
    run: async (peer) => void (await peer.call({ operation: name, input: samples.input(name), steps }, serve)),
  });
  const called = Object.keys(operations)
    .slice(0, 1)
    .map((name) =>
      carries(name, samples.leaving(name), async (exchange) => {
        meetToken(exchange);
        await succeed(samples, name, exchange);
      }),
    );
  const opened = Object.keys(channels).map((name) => {
    const opening = samples.opening(name).client.map((send): ClientStep => ({ send }));
    const serve = accepting(samples, name, async (frames, exchange) => {
      meetToken(exchange);
      await openUp(samples, name, frames);
      frames.close(1000);
    });
    return carries(name, opening, serve);
  });
  return [...called, ...opened];
}
