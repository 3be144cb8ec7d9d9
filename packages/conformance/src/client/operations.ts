import { mediaType } from "@parlance/wire/internal/http";
import { resultOf } from "../carried.js";
import { type ClientCase, meet } from "../case.js";
import type { Kit } from "../kit.js";
import { type Lenient, mutantsOf } from "../mutant.js";
import type { ClientStep } from "../script.js";
import type { Exchange } from "../stage.js";
import { accepting, answerWith, meetError, meetMessages, meetRequest, openUp, refuse, succeed } from "./read.js";

/** Requests, answers and refusals. */
export async function operationCases(kit: Kit, lenient: Lenient): Promise<ClientCase[]> {
  const names = Object.keys(kit.contract.operations);
  const cases = names.flatMap((name) => [
    ...requests(kit, name),
    ...answers(kit, name),
    ...flaws(kit, name),
    ...refusals(kit, name),
  ]);
  for (const name of names) cases.push(...(await schemas(kit, lenient, name)));
  return [...cases, ...codes(kit, names), ...tokens(kit)];
}

function about(kit: Kit, name: string, id: string) {
  return { id: `client/${name}/${id}`, side: "client", level: "must", at: kit.placeOf(name) } as const;
}

function requests(kit: Kit, name: string): ClientCase[] {
  return kit.inputs(name).map(({ value, at, name: which }) => ({
    ...about(kit, name, `request/${which}`),
    title: `${name} sends the input of ${at}`,
    at,
    kill: "alter-request",
    async run(stage) {
      const hasBody = kit.contract.operations[name]!.body !== undefined;
      await stage.call({ operation: name, input: value, script: kit.leaving(name) }, async (exchange) => {
        meetRequest(kit, name, value, exchange);
        const type = mediaType(exchange.headers["content-type"]);
        meet(!hasBody || type === "application/json", "Content-Type application/json", type ?? "none");
        await succeed(kit, name, exchange);
      });
    },
  }));
}

function answers(kit: Kit, name: string): ClientCase[] {
  const { answer } = kit.contract.operations[name]!;
  if (answer.stream || answer.binary !== undefined || (answer.json ?? answer.text) === undefined) return [];
  return kit.answers(name).map(({ value, at, name: which }) => ({
    ...about(kit, name, `answer/${which}`),
    title: `${name} returns the value of ${at}`,
    at,
    kill: "alter-told",
    async run(stage) {
      const call = { operation: name, input: kit.input(name), script: [] };
      const told = await stage.call(call, async (exchange) => answerWith(kit, name, exchange, value));
      meetError(told, undefined);
      meetMessages(told, [resultOf(kit, name, value)]);
    },
  }));
}

/** Answers that are none. */
function flaws(kit: Kit, name: string): ClientCase[] {
  const { answer } = kit.contract.operations[name]!;
  const call = { operation: name, input: kit.input(name), script: [] };
  const cut: ClientCase = {
    ...about(kit, name, "cut"),
    title: `${name} is disconnected when no answer comes`,
    kill: "cut-as-end",
    async run(stage) {
      meetError(await stage.call(call, async (exchange) => exchange.cut()), "disconnected");
    },
  };
  if (answer.json === undefined) return [cut];
  return [
    cut,
    {
      ...about(kit, name, "malformed-answer"),
      title: `${name} is violated by an answer that is not JSON`,
      kill: "lenient-answer",
      async run(stage) {
        const serve = async (exchange: Parameters<Parameters<typeof stage.call>[1]>[0]) =>
          exchange.answer(answer.status, "application/json", '{"');
        meetError(await stage.call(call, serve), "violation");
      },
    },
  ];
}

const TEXT = "Refused by the conformance suite.";

function refusals(kit: Kit, name: string): ClientCase[] {
  const statuses = Object.keys((kit.prose(name).faults ?? {}) as object);
  const all = statuses.length > 0 ? statuses : Object.keys((kit.document.source.faults ?? {}) as object).slice(0, 1);
  return all.map((status) => ({
    ...about(kit, name, `fault/${status}`),
    title: `${name} is refused with ${status} and the server's text`,
    at: `${kit.placeOf(name)}/faults`,
    kill: "lose-status",
    async run(stage) {
      const call = { operation: name, input: kit.input(name), script: [] };
      const told = await stage.call(call, async (exchange) =>
        refuse(kit, name, exchange, TEXT, { status: Number(status) }),
      );
      meetError(told, "refusal");
      meet(told.error!.status === Number(status), `status ${status}`, told.error);
      meet(told.error!.text === undefined || told.error!.text.includes(TEXT), TEXT, told.error);
    },
  }));
}

function codes(kit: Kit, names: readonly string[]): ClientCase[] {
  const { code: places, codes = {} } = kit.contract.fault;
  const [name] = names;
  if (places === undefined || name === undefined) return [];
  return Object.entries(codes).map(([code, { status = 400 }]) => ({
    ...about(kit, name, `code/${code}`),
    title: `a refusal with the code ${code} keeps it`,
    at: `contract.json#/fault/codes/${code}`,
    kill: "lose-code",
    async run(stage) {
      const call = { operation: name, input: kit.input(name), script: [] };
      const told = await stage.call(call, async (exchange) => refuse(kit, name, exchange, TEXT, { status, code }));
      meetError(told, "refusal");
      meet(told.error!.code === code, `the code ${code}`, told.error);
    },
  }));
}

async function schemas(kit: Kit, lenient: Lenient, name: string): Promise<ClientCase[]> {
  const { json } = kit.contract.operations[name]!.answer;
  if (json === undefined) return [];
  const examples = kit.examples(json).map(({ value }) => value);
  const refused = (one: Kit, value: unknown) => {
    try {
      one.talk.checkAnswer(name, structuredClone(value));
      return false;
    } catch {
      return true;
    }
  };
  const found = await mutantsOf(kit, json, examples, lenient, refused);
  return found.map(({ value, keyword, at, name: which }) => ({
    ...about(kit, name, `schema/${which}`),
    title: `${name} is violated by an answer that breaks ${keyword} at ${at}`,
    at,
    kill: `keyword:${keyword}`,
    async run(stage) {
      const call = { operation: name, input: kit.input(name), script: [] };
      meetError(await stage.call(call, async (exchange) => answerWith(kit, name, exchange, value)), "violation");
    },
  }));
}

/** The token of one operation and of each channel: clients open sockets with other code. */
function tokens(kit: Kit): ClientCase[] {
  const { auth, operations, channels } = kit.contract;
  if (auth === undefined) return [];
  const header = (auth.header ?? "Authorization").toLowerCase();
  const value = auth.header === undefined ? "Bearer conformance" : "conformance";
  const meetToken = ({ headers }: Exchange) =>
    // Another token may be the client's own, and a secret.
    meet(headers[header] === value, `${header}: ${value}`, headers[header] === undefined ? "none" : "another value");
  const carries = (name: string, script: ClientStep[], serve: (exchange: Exchange) => Promise<void>): ClientCase => ({
    ...about(kit, name, "token"),
    title: `${name} carries the token in ${auth.header ?? "Authorization"}`,
    at: "contract.json#/auth",
    kill: "no-token",
    run: async (stage) => void (await stage.call({ operation: name, input: kit.input(name), script }, serve)),
  });
  const called = Object.keys(operations)
    .slice(0, 1)
    .map((name) =>
      carries(name, kit.leaving(name), async (exchange) => {
        meetToken(exchange);
        await succeed(kit, name, exchange);
      }),
    );
  const opened = Object.keys(channels).map((name) => {
    const opening = kit.opening(name).client.map((send): ClientStep => ({ send }));
    const serve = accepting(kit, name, async (frames, exchange) => {
      meetToken(exchange);
      await openUp(kit, name, frames);
      frames.close(1000);
    });
    return carries(name, opening, serve);
  });
  return [...called, ...opened];
}
