import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { compat } from "@parlance/language/compat";
import { contractSchema } from "@parlance/language/lint";
import { assemble, type ContractFolder, read } from "@parlance/language/load";
import type { Json, SchemaObject } from "@parlance/wire";
import { expect, it } from "vitest";
import { calls } from "../calls.js";
import { everything } from "../generate/everything.js";
import { pets } from "../pets.js";

/** Keywords whose changes nobody has to know: prose, and `messages`, because a message counts where it is used. */
const SILENT =
  "/$schema /title /version /imported /rpc/version /retry /retry/waits /messages */x-secret */description */summary */examples".split(
    " ",
  );
const isSilent = (place: string) => SILENT.includes(place) || SILENT.includes(`*/${place.split("/").at(-1)}`);

/** What no protocol here needs, and neither does `everything`. */
const seldom = pets({
  set: {
    "#/auth": { apiKey: "required", header: "X-Key" },
    "#/formats": { chip: { description: "A chip's number.", pattern: "^[0-9]+$" } },
    "#/operations/talk/parameters/chip": {
      in: "query",
      type: "string",
      pattern: "^0",
      format: "chip",
      "x-secret": true,
    },
    "#/operations/talk/answer/stream/lines": "application/x-ndjson",
    "#/operations/talk/answer/stream/rejoin": { operation: "talk", input: { chip: "/chip" }, after: { mood: "/text" } },
    "#/operations/tell/answer/headers": { "X-Mood": { type: "string", enum: ["glad", "sad"], required: true } },
    "#/channels/line/alsoAt": ["/line"],
    "#/channels/line/closedBy": "tell",
    "#/channels/line/parameters/chip": {
      in: "query",
      type: "string",
      required: true,
      enum: ["1", "2", "1x"],
      default: "1",
      pattern: "1",
      format: "chip",
      minLength: 1,
      "x-secret": true,
      examples: ["1"],
    },
    "#/faults": { "503": { description: "Asleep.", text: true, examples: ["asleep"] } },
  },
});

const root = contractSchema as SchemaObject;
const follow = (schema: SchemaObject): SchemaObject => {
  const target = schema.$ref === undefined ? schema : pointed(String(schema.$ref));
  return (target.oneOf as SchemaObject[] | undefined)?.find(({ properties }) => properties) ?? target;
};
const pointed = (ref: string) =>
  ref
    .split("/")
    .slice(1)
    .reduce((at: SchemaObject, step) => at[step] as SchemaObject, root);

/** Every keyword that the schema has, as its place, with * for a name or an index. */
function* places(schema: SchemaObject, place = ""): Generator<string> {
  const one = follow(schema);
  for (const [key, child] of Object.entries((one.properties as Record<string, SchemaObject>) ?? {})) {
    yield `${place}/${key}`;
    yield* places(child, `${place}/${key}`);
  }
  const inner = one.additionalProperties || one.items;
  if (typeof inner === "object") yield* places(inner as SchemaObject, `${place}/*`);
}

/** Every keyword that a contract uses: its place, and where it is. */
function* uses(
  value: unknown,
  schema: SchemaObject,
  place = "",
  steps: readonly string[] = [],
): Generator<[string, readonly string[]]> {
  if (typeof value !== "object" || value === null) return;
  const one = follow(schema);
  for (const [key, child] of Object.entries(value)) {
    const named = (one.properties as Record<string, SchemaObject> | undefined)?.[key];
    const inner = named ?? one.additionalProperties ?? one.items;
    const at = named ? `${place}/${key}` : `${place}/*`;
    if (named) yield [at, [...steps, key]];
    if (typeof inner === "object") yield* uses(child, inner as SchemaObject, at, [...steps, key]);
  }
}

/** Other values for a keyword; undefined removes it. */
function* others(value: Json | undefined): Generator<Json | undefined> {
  yield undefined;
  if (value === "messages/word.json") yield "messages/said.json";
  else if (typeof value === "string") yield /^messages\//.test(value) ? "messages/word.json" : `${value}x`;
  if (typeof value === "number") yield value + 1;
  if (Array.isArray(value)) yield value.slice(1);
  else if (typeof value === "object" && value !== null) yield Object.fromEntries(Object.entries(value).slice(0, -1));
}

/** Whether compat reports one change of a keyword. A change that leaves no contract does not count. */
function isReported(folder: ContractFolder, steps: readonly string[], used: Json): boolean {
  const old = assemble(folder);
  for (const value of others(used)) {
    const changed = JSON.parse(folder.files["contract.json"]!);
    const owner = steps.slice(0, -1).reduce((at, step) => at[step], changed);
    if (value === undefined) delete owner[steps.at(-1)!];
    else owner[steps.at(-1)!] = value;
    try {
      const files = { ...folder.files, "contract.json": JSON.stringify(changed) };
      if (compat(old, assemble({ ...folder, files })).length > 0) return true;
    } catch {}
  }
  return false;
}

const schemas = fileURLToPath(new URL("../../../../schemas/", import.meta.url));
const names = readdirSync(schemas).filter((name) => !name.endsWith(".json"));
const folders = [
  pets(),
  pets(everything),
  calls(),
  seldom,
  ...(await Promise.all(names.map((name) => read(schemas + name)))),
];

it("has a change of every keyword of contract.json that compat reports, or a reason for its silence", () => {
  const reported = new Map([...places(root)].map((place) => [place, "unused"]));
  expect(reported.size).toBeGreaterThan(100);
  for (const folder of folders.filter(({ extended }) => !extended)) {
    const tried = new Map<string, number>();
    const source = JSON.parse(folder.files["contract.json"]!);
    for (const [place, steps] of uses(source, root)) {
      // A keyword that is silent at three places of a contract is silent at the others.
      const times = tried.get(place) ?? 0;
      if (reported.get(place) === "reported" || times === 3) continue;
      tried.set(place, times + 1);
      const used = steps.reduce((at, step) => at[step], source);
      reported.set(place, isReported(folder, steps, used) ? "reported" : "silent");
    }
  }
  const wanted = [...reported.keys()].map((place) => [place, isSilent(place) ? "silent" : "reported"]);
  expect(Object.fromEntries(reported)).toEqual(Object.fromEntries(wanted));
}, 120_000);
