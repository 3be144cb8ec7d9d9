import type { Json } from "@parlance/wire";
import { mediaType } from "@parlance/wire/internal/http";
import { answerHeaders, carriedParameters, resultOf } from "../carried.js";
import { type ClientCase, equal, meet } from "../case.js";
import { BYTES, base64, type Kit } from "../kit.js";
import { answerWith, meetError, meetMessages, meetRequest, succeed, textsOf } from "./read.js";

/** What travels beside JSON: bytes, headers of answers, parameters in headers and cookies. */
export function carriedCases(kit: Kit): ClientCase[] {
  return Object.keys(kit.contract.operations).flatMap((name) => [
    ...parameters(kit, name),
    ...uploads(kit, name),
    ...downloads(kit, name),
    ...headers(kit, name),
  ]);
}

function about(kit: Kit, name: string, id: string, place: string) {
  return { id: `client/${name}/${id}`, side: "client", level: "must", at: `${kit.placeOf(name)}/${place}` } as const;
}

function parameters(kit: Kit, name: string): ClientCase[] {
  return carriedParameters(kit, name).map(({ key, place, value }) => ({
    ...about(kit, name, `parameter/${key}`, `parameters/${key}`),
    title: `${name} sends ${key} in a ${place}`,
    kill: `lose-${place}`,
    async run(stage) {
      const input = { ...kit.input(name), [key]: value };
      await stage.call({ operation: name, input, script: kit.leaving(name) }, async (exchange) => {
        meetRequest(kit, name, input, exchange);
        await succeed(kit, name, exchange);
      });
    },
  }));
}

function uploads(kit: Kit, name: string): ClientCase[] {
  const { binary } = kit.contract.operations[name]!;
  if (binary === undefined) return [];
  return [
    {
      ...about(kit, name, "upload", "binary"),
      title: `${name} sends its bytes as ${binary}`,
      kill: "alter-upload",
      async run(stage) {
        const input = kit.input(name);
        await stage.call({ operation: name, input, script: kit.leaving(name) }, async (exchange) => {
          meetRequest(kit, name, input, exchange);
          meet(
            mediaType(exchange.headers["content-type"]) === binary,
            `Content-Type ${binary}`,
            mediaType(exchange.headers["content-type"]) ?? "none",
          );
          meet(equal(base64(BYTES), base64(exchange.bytes)), `the bytes ${base64(BYTES)}`, base64(exchange.bytes));
          await succeed(kit, name, exchange);
        });
      },
    },
  ];
}

function downloads(kit: Kit, name: string): ClientCase[] {
  const { status, binary } = kit.contract.operations[name]!.answer;
  if (binary === undefined) return [];
  const call = { operation: name, input: kit.input(name), script: [] };
  return [
    {
      ...about(kit, name, "download", "answer/binary"),
      title: `${name} returns the bytes of its answer`,
      kill: "alter-told",
      async run(stage) {
        const told = await stage.call(call, async (exchange) => answerWith(kit, name, exchange, null));
        meetError(told, undefined);
        meetMessages(told, [resultOf(kit, name, base64(BYTES))]);
      },
    },
    {
      ...about(kit, name, "cut-download", "answer/binary"),
      title: `${name} is disconnected when its bytes are cut`,
      kill: "cut-as-end",
      async run(stage) {
        const told = await stage.call(call, async (exchange) => {
          exchange.begin(status, binary, textsOf(answerHeaders(kit, name)));
          await exchange.write(BYTES);
          exchange.cut();
        });
        meetError(told, "disconnected");
      },
    },
  ];
}

function headers(kit: Kit, name: string): ClientCase[] {
  const call = { operation: name, input: kit.input(name), script: [] };
  return Object.entries(answerHeaders(kit, name) ?? {}).map(([key, value]) => ({
    ...about(kit, name, `header/${key}`, `answer/headers/${key}`),
    title: `${name} returns the header ${key} of its answer`,
    kill: "alter-answer-header",
    async run(stage) {
      const told = await stage.call(call, (exchange) => succeed(kit, name, exchange));
      meetError(told, undefined);
      const [result] = told.messages as readonly { headers?: Readonly<Record<string, Json>> }[];
      const came = result?.headers?.[key];
      meet(came !== undefined && equal(value, came), `${key}: ${JSON.stringify(value)}`, came ?? "none");
    },
  }));
}
