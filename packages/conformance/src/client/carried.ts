import type { Json } from "@parlance/wire";
import { mediaType } from "@parlance/wire/internal/http";
import { answerHeaders, carriedParameters, resultOf } from "../carried.js";
import { type ClientCase, equal, meet } from "../case.js";
import { BYTES, base64, type Samples } from "../samples.js";
import { answerWith, meetError, meetMessages, meetRequest, succeed, textsOf } from "./read.js";

/** What travels beside JSON: bytes, headers of answers, parameters in headers and cookies. */
export function carriedCases(samples: Samples): ClientCase[] {
  return Object.keys(samples.contract.operations).flatMap((name) => [
    ...parameters(samples, name),
    ...uploads(samples, name),
    ...downloads(samples, name),
    ...headers(samples, name),
    ...nothing(samples, name),
  ]);
}

/** The answer without a body: an operation has no result, and a stream no messages. */
function nothing(samples: Samples, name: string): ClientCase[] {
  const { none } = samples.contract.operations[name]!.answer;
  if (none === undefined) return [];
  const call = { operation: name, input: samples.input(name), steps: [] };
  return [
    {
      ...about(samples, name, "none", "answer/none"),
      title: `${name} takes an answer of ${none} with no body`,
      kill: "none-as-violation",
      async run(peer) {
        const told = await peer.call(call, async (exchange) => exchange.answer(none, undefined, ""));
        meetError(told, undefined);
        // A driver may report no result as null.
        meetMessages({ ...told, messages: told.messages.filter((one) => (one ?? null) !== null) }, []);
      },
    },
  ];
}

function about(samples: Samples, name: string, id: string, place: string) {
  return {
    id: `client/${name}/${id}`,
    side: "client",
    level: "must",
    at: `${samples.placeOf(name)}/${place}`,
  } as const;
}

function parameters(samples: Samples, name: string): ClientCase[] {
  return carriedParameters(samples, name).map(({ key, place, value }) => ({
    ...about(samples, name, `parameter/${key}`, `parameters/${key}`),
    title: `${name} sends ${key} in a ${place}`,
    kill: `lose-${place}`,
    async run(peer) {
      const input = { ...samples.input(name), [key]: value };
      await peer.call({ operation: name, input, steps: samples.leaving(name) }, async (exchange) => {
        meetRequest(samples, name, input, exchange);
        await succeed(samples, name, exchange);
      });
    },
  }));
}

function uploads(samples: Samples, name: string): ClientCase[] {
  const { binary } = samples.contract.operations[name]!;
  if (binary === undefined) return [];
  return [
    {
      ...about(samples, name, "upload", "binary"),
      title: `${name} sends its bytes as ${binary}`,
      kill: "alter-upload",
      async run(peer) {
        const input = samples.input(name);
        await peer.call({ operation: name, input, steps: samples.leaving(name) }, async (exchange) => {
          meetRequest(samples, name, input, exchange);
          meet(
            mediaType(exchange.headers["content-type"]) === binary,
            `Content-Type ${binary}`,
            mediaType(exchange.headers["content-type"]) ?? "none",
          );
          meet(equal(base64(BYTES), base64(exchange.bytes)), `the bytes ${base64(BYTES)}`, base64(exchange.bytes));
          await succeed(samples, name, exchange);
        });
      },
    },
  ];
}

function downloads(samples: Samples, name: string): ClientCase[] {
  const { status, binary } = samples.contract.operations[name]!.answer;
  if (binary === undefined) return [];
  const call = { operation: name, input: samples.input(name), steps: [] };
  return [
    {
      ...about(samples, name, "download", "answer/binary"),
      title: `${name} returns the bytes of its answer`,
      kill: "alter-told",
      async run(peer) {
        const told = await peer.call(call, async (exchange) => answerWith(samples, name, exchange, null));
        meetError(told, undefined);
        meetMessages(told, [resultOf(samples, name, base64(BYTES))]);
      },
    },
    {
      ...about(samples, name, "cut-download", "answer/binary"),
      title: `${name} is disconnected when its bytes are cut`,
      kill: "cut-as-end",
      async run(peer) {
        const told = await peer.call(call, async (exchange) => {
          exchange.begin(status, binary, textsOf(answerHeaders(samples, name)));
          await exchange.write(BYTES);
          exchange.cut();
        });
        meetError(told, "disconnected");
      },
    },
  ];
}

function headers(samples: Samples, name: string): ClientCase[] {
  // The driver reports a stream's messages, not what `opened` resolves with.
  if (samples.contract.operations[name]!.answer.stream) return [];
  const call = { operation: name, input: samples.input(name), steps: [] };
  return Object.entries(answerHeaders(samples, name) ?? {}).map(([key, value]) => ({
    ...about(samples, name, `header/${key}`, `answer/headers/${key}`),
    title: `${name} returns the header ${key} of its answer`,
    kill: "alter-answer-header",
    async run(peer) {
      const told = await peer.call(call, (exchange) => succeed(samples, name, exchange));
      meetError(told, undefined);
      const [result] = told.messages as readonly { headers?: Readonly<Record<string, Json>> }[];
      const came = result?.headers?.[key];
      meet(came !== undefined && equal(value, came), `${key}: ${JSON.stringify(value)}`, came ?? "none");
    },
  }));
}
