import { isObject, type Json, Violation } from "@parlance/wire";
import { meet, type ServerCase } from "../case.js";
import type { FlatInput, Kit } from "../kit.js";
import { KEYWORDS, type Lenient, type Mutant, mutantsOf } from "../mutant.js";
import type { Asking } from "../stage.js";
import { success } from "./operations.js";
import { meetRefusal, meetRefused, openChannel } from "./read.js";

/** For each keyword of the schemas of what a client sends, a form that breaks it alone. */
export async function schemaCases(kit: Kit, lenient: Lenient): Promise<ServerCase[]> {
  const cases: ServerCase[] = [];
  for (const [name, { body }] of Object.entries(kit.contract.operations)) {
    if (body !== undefined) cases.push(...(await bodies(kit, lenient, name, body)));
    cases.push(...(await parameters(kit, lenient, name)));
  }
  for (const [name, { client }] of Object.entries(kit.contract.channels)) {
    cases.push(...(await parameters(kit, lenient, name)));
    for (const type of client) cases.push(...(await messages(kit, lenient, name, type)));
  }
  return cases;
}

/** Whether a request breaks the contract, as a server reads it. */
function isRefused(kit: Kit, { method, target, headers = {}, body }: Asking): boolean {
  try {
    const list = Object.entries(headers).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, value] as const],
    );
    kit.talk.asked(method, target, list, typeof body === "string" ? JSON.parse(body) : undefined);
    return false;
  } catch (error) {
    if (error instanceof Violation) return true;
    throw error;
  }
}

function caseOf(kit: Kit, name: string, { keyword, at, name: which }: Mutant, asking: Asking): ServerCase {
  const statuses = kit.inputStatuses(name);
  return {
    id: `server/${name}/schema/${which}`,
    side: "server",
    level: "must",
    title: `${name} refuses an input that breaks ${keyword} at ${at} with ${statuses.join(" or ")}`,
    at,
    kill: `keyword:${keyword}`,
    script: [success(kit, name)],
    live: true,
    async run(stage) {
      if (kit.contract.channels[name]) {
        const frames = await stage.socket(asking);
        if ("status" in frames) return meetRefused(stage, frames, statuses, "an input that breaks its schema");
        frames.cut();
        meet(false, `the handshake to be refused with ${statuses.join(" or ")}`, "an open WebSocket");
      }
      const opened = await stage.open(asking);
      const text = opened.status >= 300 ? await opened.rest() : "";
      opened.abort();
      meetRefused(stage, { ...opened, text }, statuses, `an input that breaks ${keyword} at ${at}`);
    },
  };
}

async function bodies(kit: Kit, lenient: Lenient, name: string, title: string): Promise<ServerCase[]> {
  const operation = kit.contract.operations[name]!;
  const asking = kit.asking(name, kit.input(name));
  const constants = operation.when ?? {};
  const withBody = (value: Json): Asking => ({
    ...asking,
    body: JSON.stringify(isObject(value) ? { ...value, ...constants } : value),
  });
  const refuses = (one: Kit, value: Json) => isObject(value) && isRefused(one, withBody(value));
  const examples = kit.examples(title).map(({ value }) => value);
  const found = await mutantsOf(kit, title, examples, lenient, refuses);
  return found.map((mutant) => caseOf(kit, name, mutant, withBody(mutant.value)));
}

const BAD_TEXTS: readonly Json[] = ["", "parlance mutated", "-1", "1.5", "0", "99999999999", "not this!", "null"];

/** Parameters travel as text: what breaks their type, values, pattern or length. */
async function parameters(kit: Kit, lenient: Lenient, name: string): Promise<ServerCase[]> {
  const { parameters: declared = {} } = kit.prose(name) as {
    parameters?: Record<string, Readonly<Record<string, unknown>>>;
  };
  const cases: ServerCase[] = [];
  for (const [key, schema] of Object.entries(declared))
    for (const keyword of KEYWORDS.filter((one) => one in schema)) {
      const at = `${kit.placeOf(name)}/parameters/${key}/${keyword}`;
      const values: readonly (Json | undefined)[] = keyword === "required" ? [undefined] : BAD_TEXTS;
      for (const value of values) {
        const asking = askingWith(kit, name, { ...kit.input(name), [key]: value } as FlatInput);
        if (!asking || !isRefused(kit, asking)) continue;
        if (isRefused(await lenient(keyword), asking)) continue;
        const mutant = { value: null, keyword, at, name: `${key}/${keyword}` };
        cases.push({ ...caseOf(kit, name, mutant, asking), kill: `parameter:${keyword}` });
        break;
      }
    }
  return cases;
}

function askingWith(kit: Kit, name: string, input: FlatInput): Asking | undefined {
  try {
    return kit.asking(name, input);
  } catch {
    // A path cannot hold the value.
    return undefined;
  }
}

async function messages(kit: Kit, lenient: Lenient, name: string, type: string): Promise<ServerCase[]> {
  const title = kit.contract.messages[type]!.schema;
  const examples = kit.examples(title).map(({ value }) => value);
  const found = await mutantsOf(kit, title, examples, lenient, (one, value) =>
    isFlawed(one, name, "client", type, value),
  );
  const { client } = kit.opening(name);
  const isOpening = client[0]?.type === type;
  return found.map(({ value, keyword, at, name: which }) => ({
    id: `server/${name}/schema/${which}`,
    side: "server",
    level: "must",
    title: `${name} refuses a message that breaks ${keyword} at ${at}`,
    at,
    kill: `keyword:${keyword}`,
    script: [success(kit, name)],
    async run(stage) {
      const frames = isOpening ? await openRaw(kit, stage, name) : await openChannel(kit, stage, name);
      try {
        frames.send(JSON.stringify(value));
        await meetRefusal(kit, name, frames, `a message that breaks ${keyword} at ${at}`);
      } finally {
        frames.cut();
      }
    },
  }));
}

/** Whether a message breaks its schema; one that is another message, or unknown, does not. */
export function isFlawed(kit: Kit, call: string, side: "client" | "server", type: string, value: Json): boolean {
  try {
    // A frame of a channel has no event name.
    kit
      .codec(call, side)
      .decode({ event: kit.contract.channels[call] ? undefined : type, data: JSON.stringify(value) });
    return false;
  } catch (error) {
    if (error instanceof Violation) return error.code === "schema";
    throw error;
  }
}

/** A channel whose opening message is still to be sent. */
async function openRaw(kit: Kit, stage: Parameters<ServerCase["run"]>[0], name: string) {
  const frames = await stage.socket(kit.asking(name, kit.input(name)));
  if ("status" in frames) return meet(false, "a WebSocket to open (101)", frames.status) as never;
  return frames;
}
