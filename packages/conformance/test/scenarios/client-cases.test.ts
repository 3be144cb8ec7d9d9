import { suiteOf } from "@parlance/conformance";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { type AnyContract, type ContractDocument, type Json, Violation } from "@parlance/wire";
import { expect, test } from "vitest";
import { vaultFiles } from "../../../cli/test/vault-files.js";
import { ferry } from "../../../recordings/test/ferry.js";
import { pier } from "../../../recordings/test/pier.js";
import { type ClientCase, Unmet } from "../../src/case.js";
import type { Told } from "../../src/steps.js";
import type { Frame } from "../../src/tested.js";
import { type Asked, alterations, type Heard, listening, repeating } from "../client-in-memory.js";

// What the suite puts to a client, case by case, and what each case notices. `-u` rewrites the lists; a change of one is a change of what a
// client has to do.

const contracts: Readonly<Record<string, ContractDocument>> = {
  ferry,
  vault: assemble({ name: "vault", files: vaultFiles }),
  pier,
};

test.each(Object.keys(contracts))(
  "the cases for a client of %s are as they are listed",
  async (name) => {
    const document = contracts[name]!;
    const suite = await suiteOf(document, contractValue);
    const texts: string[] = [];
    // A chunk that ends after each byte: three of them are enough.
    const cases = suite.client.filter(({ id }) => !/\/split\/\d*[1-9]\d$|\/split\/[3-9]$/.test(id));
    for (const one of cases) texts.push(await described(one, suite.samples.contract));
    await expect(`${texts.join("\n")}\n`).toMatchFileSnapshot(`../client-cases/${name}.txt`);
  },
  60_000,
);

async function described(one: ClientCase, contract: AnyContract): Promise<string> {
  const said: string[] = [];
  const { peer, heard } = listening(contract, said);
  await one.run(peer);
  const whole = heard();
  expect(await flawOf(one, whole), `${one.id}, said again`).toBeUndefined();
  const noticed = new Map<string, string[]>();
  for (const [change, other] of changes(whole)) {
    const flaw = await flawOf(one, other);
    if (flaw !== undefined) noticed.set(flaw, [...(noticed.get(flaw) ?? []), change]);
  }
  const { id, level, title, at, kill } = one;
  const found = [...noticed].map(([flaw, all]) => `  ${flaw}: ${[...new Set(all)].join(", ")}`);
  return [
    `${id} [${level}; ${at}; ${kill}]`,
    `  ${title}`,
    ...joined(said).map((line) => `  > ${line}`),
    ...found,
  ].join("\n");
}

/** Each kind of line once in a row: what is written byte by byte stands in one. */
function joined(said: readonly string[]): string[] {
  const lines: string[] = [];
  for (const one of said) {
    const before = lines.at(-1);
    if (one.startsWith("writes ") && before?.startsWith("writes ")) lines[lines.length - 1] = before + one.slice(6);
    else lines.push(one);
  }
  return lines;
}

async function flawOf(one: ClientCase, heard: Heard): Promise<string | undefined> {
  try {
    await one.run(repeating(heard));
    return undefined;
  } catch (error) {
    if (error instanceof Unmet) return `expects ${error.expected}`;
    if (error instanceof Violation) return `expects what the contract defines (${error.message})`;
    throw error;
  }
}

function* changes(heard: Heard): Generator<[string, Heard]> {
  for (const [change, told] of tellings(heard.told)) yield [change, { ...heard, told }];
  for (const [index, one] of heard.asked.entries()) {
    const but = (...others: Asked[]) => ({ ...heard, asked: heard.asked.toSpliced(index, 1, ...others) });
    const which = index === 0 ? "" : `${index + 1}. `;
    yield [`${which}twice`, but(one, one)];
    for (const [change, other] of askings(one)) yield [`${which}${change}`, but(other)];
  }
}

const KINDS = ["refusal", "violation", "disconnected"] as const;

function* tellings(told: Told): Generator<[string, Told]> {
  const { messages, error } = told;
  for (const kind of KINDS) if (error?.kind !== kind) yield [`tells a ${kind}`, { messages, error: { kind } }];
  if (error) {
    yield ["tells no error", { messages, error: null }];
    for (const [key, value] of Object.entries({ status: 418, code: "other", text: "other", only: undefined }))
      yield [`tells another ${key}`, { messages, error: { ...error, [key]: value } }];
    yield ["tells the kind alone", { messages, error: { kind: error.kind } }];
  }
  yield ["tells one more", { messages: [...messages, "more"], error }];
  if (messages.length === 0) return;
  yield ["tells nothing", { messages: [], error }];
  yield ["tells all but the last", { messages: messages.slice(0, -1), error }];
  yield ["tells all but the first", { messages: messages.slice(1), error }];
  for (const other of alterations(messages as Json))
    yield ["tells an altered one", { messages: other as Json[], error }];
  const extended = messages.map((one) => (isObject(one) ? { ...one, more: 1 } : one));
  yield ["tells more of each", { messages: extended, error }];
}

const isObject = (value: Json): value is Readonly<Record<string, Json>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function* askings(asked: Asked): Generator<[string, Asked]> {
  const { method, target, headers, bytes, frames } = asked;
  yield [`not ${method}`, { ...asked, method: "TRACE" }];
  yield ["another path", { ...asked, target: target.replace(/(?=\?|$)/, "/other") }];
  if (target.includes("?")) {
    yield ["no query", { ...asked, target: target.split("?")[0]! }];
    yield ["another query", { ...asked, target: `${target}x` }];
  }
  for (const [name, value] of Object.entries(headers)) {
    const { [name]: _, ...others } = headers;
    yield [`no ${name}`, { ...asked, headers: others }];
    yield [`another ${name}`, { ...asked, headers: { ...headers, [name]: `${value}x` } }];
    if (name === "content-type")
      yield ["a charset", { ...asked, headers: { ...headers, [name]: `${value}; charset=utf-8` } }];
  }
  if (bytes.length > 0) {
    yield ["a body that is cut", { ...asked, bytes: bytes.subarray(0, -1) }];
    for (const text of bodies(new TextDecoder().decode(bytes)))
      yield ["an altered body", { ...asked, bytes: new TextEncoder().encode(text) }];
  }
  for (const [index, frame] of frames.entries()) {
    const but = (...others: Frame[]): Asked => ({ ...asked, frames: frames.toSpliced(index, 1, ...others) });
    yield [`a close, not the frame ${index + 1}`, but({ close: 1006 })];
    if ("text" in frame) {
      yield ["a frame is missing", but()];
      yield ["a frame is binary", but({ binary: 3 })];
      yield ["a pong before a frame", but({ pong: "" }, frame)];
      yield ["an unknown message before a frame", but({ text: '{"kind":"later"}' }, frame)];
      for (const text of bodies(frame.text)) yield ["a frame is altered", but({ text })];
    }
    if ("pong" in frame) {
      yield ["no pong", but()];
      yield ["another pong", but({ pong: "other" })];
      yield ["a text before the pong", but({ text: "{}" }, frame)];
    }
  }
  if (asked.isSocket) yield ["no handshake", { ...asked, isSocket: false }];
}

function bodies(text: string): string[] {
  try {
    return alterations(JSON.parse(text) as Json).map((one) => JSON.stringify(one));
  } catch {
    return [`${text} altered`];
  }
}
