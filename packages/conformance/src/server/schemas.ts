import { isObject, type Json, Violation } from "@parlance/wire";
import { meet, type ServerCase } from "../case.js";
import { KEYWORDS, type Lenient, type Mutant, messageMutants, mutantsOf, paramsMutants } from "../mutant.js";
import { errorOf, Ids, INVALID_PARAMS, methodsOf, type Sent } from "../rpc.js";
import type { FlatInput, Samples } from "../samples.js";
import type { Asking } from "../tested.js";
import { channelCase, meetReceived } from "./channel-case.js";
import { success } from "./operations.js";
import { meetRefusal, meetRefused, nextMessage } from "./read.js";

/** For each keyword of the schemas of what a client sends, a form that breaks it alone. */
export async function schemaCases(samples: Samples, lenient: Lenient): Promise<ServerCase[]> {
  const cases: ServerCase[] = [];
  for (const [name, { body }] of Object.entries(samples.contract.operations)) {
    if (body !== undefined) cases.push(...(await bodies(samples, lenient, name, body)));
    cases.push(...(await parameters(samples, lenient, name)));
  }
  for (const name of Object.keys(samples.contract.channels))
    cases.push(...(await parameters(samples, lenient, name)), ...(await messages(samples, lenient, name)));
  return cases;
}

/** Whether a request breaks the contract, as a server reads it. */
function isRefused(samples: Samples, { method, target, headers = {}, body }: Asking): boolean {
  try {
    const list = Object.entries(headers).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, value] as const],
    );
    samples.talk.asked(method, target, list, typeof body === "string" ? JSON.parse(body) : undefined);
    return false;
  } catch (error) {
    if (error instanceof Violation) return true;
    throw error;
  }
}

function caseOf(samples: Samples, name: string, { keyword, at, name: which }: Mutant, asking: Asking): ServerCase {
  const statuses = samples.inputStatuses(name);
  return {
    id: `server/${name}/schema/${which}`,
    side: "server",
    level: "must",
    title: `${name} refuses an input that breaks ${keyword} at ${at} with ${statuses.join(" or ")}`,
    at,
    kill: `keyword:${keyword}`,
    acts: [success(samples, name)],
    live: true,
    async run(peer) {
      if (samples.contract.channels[name]) {
        const frames = await peer.socket(asking);
        if ("status" in frames) return meetRefused(peer, frames, statuses, "an input that breaks its schema");
        frames.cut();
        meet(false, `the handshake to be refused with ${statuses.join(" or ")}`, "an open WebSocket");
      }
      const opened = await peer.open(asking);
      const text = opened.status >= 300 ? await opened.rest() : "";
      opened.abort();
      meetRefused(peer, { ...opened, text }, statuses, `an input that breaks ${keyword} at ${at}`);
    },
  };
}

async function bodies(samples: Samples, lenient: Lenient, name: string, title: string): Promise<ServerCase[]> {
  const operation = samples.contract.operations[name]!;
  const asking = samples.asking(name, samples.input(name));
  const constants = operation.when ?? {};
  const withBody = (value: Json): Asking => ({
    ...asking,
    body: JSON.stringify(isObject(value) ? { ...value, ...constants } : value),
  });
  const refuses = (one: Samples, value: Json) => isObject(value) && isRefused(one, withBody(value));
  const examples = samples.examples(title).map(({ value }) => value);
  const found = await mutantsOf(samples, title, examples, lenient, refuses);
  return found.map((mutant) => caseOf(samples, name, mutant, withBody(mutant.value)));
}

const BAD_TEXTS: readonly Json[] = ["", "parlance mutated", "-1", "1.5", "0", "99999999999", "not this!", "null"];

/** Parameters travel as text: what breaks their type, values, pattern or length. */
async function parameters(samples: Samples, lenient: Lenient, name: string): Promise<ServerCase[]> {
  const { parameters: declared = {} } = samples.prose(name) as {
    parameters?: Record<string, Readonly<Record<string, unknown>>>;
  };
  const cases: ServerCase[] = [];
  for (const [key, schema] of Object.entries(declared))
    for (const keyword of KEYWORDS.filter((one) => one in schema)) {
      const at = `${samples.placeOf(name)}/parameters/${key}/${keyword}`;
      const values: readonly (Json | undefined)[] = keyword === "required" ? [undefined] : BAD_TEXTS;
      for (const value of values) {
        const asking = askingWith(samples, name, { ...samples.input(name), [key]: value } as FlatInput);
        if (!asking || !isRefused(samples, asking)) continue;
        if (isRefused(await lenient(keyword), asking)) continue;
        const mutant = { value: null, keyword, at, name: `${key}/${keyword}` };
        cases.push({ ...caseOf(samples, name, mutant, asking), kill: `parameter:${keyword}` });
        break;
      }
    }
  return cases;
}

function askingWith(samples: Samples, name: string, input: FlatInput): Asking | undefined {
  try {
    return samples.asking(name, input);
  } catch {
    // A path cannot hold the value.
    return undefined;
  }
}

async function messages(samples: Samples, lenient: Lenient, name: string): Promise<ServerCase[]> {
  if (samples.contract.methods) return methodSchemas(samples, lenient, name);
  const [first] = samples.opening(name).client;
  const found = await messageMutants(samples, lenient, name, "client");
  return found.map(({ value, keyword, at, name: which, type }) =>
    channelCase(samples, name, {
      id: `schema/${which}`,
      title: `${name} refuses a message that breaks ${keyword} at ${at}`,
      at,
      kill: `keyword:${keyword}`,
      act: success(samples, name),
      isOpening: type === first?.type,
      async talk(frames) {
        frames.send(JSON.stringify(value));
        await meetRefusal(samples, name, frames, `a message that breaks ${keyword} at ${at}`);
      },
    }),
  );
}

/** Params that break their schema: a request is answered with the error for that, a notification does not reach its handler. */
async function methodSchemas(samples: Samples, lenient: Lenient, name: string): Promise<ServerCase[]> {
  const cases: ServerCase[] = [];
  for (const method of methodsOf(samples, "client"))
    for (const mutant of await paramsMutants(samples, lenient, name, "client", method.name))
      cases.push(badParams(samples, name, method, mutant));
  return cases;
}

function badParams(samples: Samples, name: string, method: Sent, { value, keyword, at, name: which }: Mutant) {
  const good = samples.example(name, "client", method.name)!;
  return channelCase(samples, name, {
    id: `schema/${which}`,
    title: `${method.name} refuses params that break ${keyword} at ${at}`,
    at,
    kill: `keyword:${keyword}`,
    act: { call: name, steps: [{ hold: true }] },
    async talk(frames, peer) {
      frames.send(JSON.stringify(value));
      if (method.isRequest)
        return new Ids().meet(errorOf(good, INVALID_PARAMS), await nextMessage(samples, name, frames));
      frames.send(samples.frame(name, "client", good));
      await meetReceived(peer, name, good);
    },
  });
}
