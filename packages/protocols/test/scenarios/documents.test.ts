import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { load } from "@parlance/language/load";
import { type AnyContract, type ContractDocument, codec, decoder, type Json } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { agentsmithy } from "../../src/agentsmithy.js";
import { based } from "../../src/based.js";
import { emacsAgent } from "../../src/emacs-agent.js";
import { foldGateway } from "../../src/fold-gateway.js";
import { loco } from "../../src/loco.js";
import { free, gapsOf, listedGaps, TIME } from "../bounds.js";

/**
 * Every JSON sample that the five protocol documents print, a line each, in the documents' order: the section, the schema
 * it is an example of (none for a message that the protocol does not know), and the JSON, with comments dropped,
 * ellipses removed, alternatives written out one by one, and code samples' payloads evaluated.
 */
interface Sample {
  readonly at: string;
  readonly says?: string;
  readonly json: Json;
}

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const lines = (file: string) => readFileSync(file, "utf8").trimEnd().split("\n");
const contracts: readonly AnyContract[] = [agentsmithy, based, emacsAgent, foldGateway, loco];

for (const contract of contracts) {
  const document = await load(path(`../../../../schemas/${contract.name}`));
  const samples = lines(path(`../documents/${contract.name}.jsonl`)).map((line) => JSON.parse(line) as Sample);
  const ajv = new Ajv2020({ strict: false, formats: { "date-time": TIME } });
  const listed = listedGaps(contract.name);
  for (const schema of Object.values(document.schemas)) ajv.addSchema(schema);
  const shown = [...examples(document), ...carried(contract.name)].map(shortened);

  it(`the listed bounds of ${contract.name} are those of its samples`, () => {
    const possible = samples.flatMap(({ says, json }) => (says === undefined ? [] : gapsOf(says, json, () => true)));
    expect([...listed].filter((gap) => !possible.includes(gap))).toEqual([]);
  });

  describe(`Of the ${contract.name} document, the sample`, () => {
    for (const [index, { at, says, json }] of samples.entries()) {
      const title = `${index + 1}, under "${at}",`;
      if (says === undefined) {
        it(`${title} is not a message of the protocol`, () =>
          expect(rewritten(contract, undefined, json)).resolves.toBeUndefined());
      } else {
        it(`${title} fits ${says}`, () => {
          const check = ajv.getSchema(document.schemas[says]!.$id as string)!;
          expect(check(json), JSON.stringify(check.errors)).toBe(true);
        });
        if (messageOf(contract, says) !== undefined)
          it(`${title} is written as it was read`, () =>
            expect(rewritten(contract, says, json)).resolves.toEqual(json));
      }
      if (says !== undefined) {
        const check = (other: Json) => ajv.getSchema(document.schemas[says]!.$id as string)!(other) as boolean;
        it(`${title} has nothing that may be of another type`, () => {
          const passing = retyped(json).filter(([place, other]) => !free.test(place) && check(other));
          expect(passing.map(([place]) => place)).toEqual([]);
        });
        it(`${title} may leave out, empty and lower what is listed, and nothing else`, () => {
          const possible = gapsOf(says, json, () => true);
          expect(gapsOf(says, json, check).sort()).toEqual(possible.filter((gap) => listed.has(gap)).sort());
        });
      }
      it(`${title} stands in the schemas or in a transcript`, () =>
        expect(shown.some((other) => isDeepStrictEqual(other, shortened(json)))).toBe(true));
    }
  });
}

/** Copies of a sample, in each of which one value is of another type, and the place of that value. */
function retyped(json: Json, at = ""): [place: string, other: Json][] {
  const own: [string, Json][] = [[at, json === null || typeof json === "string" ? 0.5 : "x"]];
  if (typeof json !== "object" || json === null) return own;
  const inner = Object.entries(json).flatMap(([key, value]) =>
    retyped(value as Json, `${at}/${key}`).map(([place, other]): [string, Json] => [
      place,
      Array.isArray(json) ? json.with(Number(key), other) : { ...json, [key]: other },
    ]),
  );
  return [...own, ...inner];
}

/** What is written of what was read; undefined for an unknown message. */
async function rewritten(contract: AnyContract, says: string | undefined, json: Json): Promise<unknown> {
  const name = says && messageOf(contract, says);
  const directions = [
    ...Object.values(contract.operations).flatMap(({ answer }) => (answer.stream ? [answer.stream.messages] : [])),
    ...Object.values(contract.channels).flatMap(({ client, server }) => [client, server]),
  ];
  const names = name === undefined ? directions.flat() : directions.find((direction) => direction.includes(name))!;
  const sentByClient = Object.values(contract.channels).some(({ client }) => client === names);
  const side = sentByClient ? "client" : "server";
  const { checks, reads } = sentByClient ? await contract.accepts() : contract;
  // What is written by default may be more than the document shows.
  const profile = contract.profile && "bare";
  const { decode, encode } = codec(contract, { side, names, checks, reads, profile });
  const read = decode({ event: contract.tag.in === "event" ? name : undefined, data: JSON.stringify(json) });
  return "message" in read ? JSON.parse(encode(read.message).data) : undefined;
}

function messageOf(contract: AnyContract, schema: string): string | undefined {
  return Object.keys(contract.messages).find((name) => contract.messages[name]!.schema === schema);
}

function examples({ schemas }: ContractDocument): Json[] {
  return Object.values(schemas).flatMap((schema) => schema.examples ?? []);
}

/** Everything that a contract's transcripts carry, as JSON. */
function carried(name: string): Json[] {
  const folder = path(`../../../../schemas/${name}/transcripts`);
  return readdirSync(folder)
    .flatMap((file) => lines(`${folder}/${file}`))
    .flatMap((line) => {
      const { wire = "", body = "", request } = JSON.parse(line);
      return [wire, ...events(wire), body, request?.body ?? ""];
    })
    .filter((text) => /^[{[]/.test(text))
    .map((text) => JSON.parse(text) as Json);
}

function events(wire: string): string[] {
  const found: string[] = [];
  decoder({ onEvent: ({ data }) => found.push(data), onTooLarge() {}, maxSize: Infinity }).push(wire);
  return found;
}

/** The documents print a hash as its first digits; the examples show whole ones. */
function shortened(json: Json): Json {
  return JSON.parse(JSON.stringify(json).replace(/(?<="sha256:[0-9a-f]{6})[0-9a-f]*(?=")/g, "")) as Json;
}
