import type { SchemaObject } from "@parlance/wire";
import { escapeStep, parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { type ContractFolder, fileOf } from "../folder.js";
import { lint } from "../lint.js";
import type { Source } from "../source.js";
import { subschemas } from "../walk.js";
import { addExamples } from "./examples.js";

/** A contract's parts while it is made. */
export interface Draft {
  contract: Record<string, unknown>;
  schemas: Record<string, SchemaObject>;
}

/** A part that was left out of a file, with the reason. */
export interface Repair {
  readonly file: string;
  readonly pointer: string;
  readonly message: string;
}

/** More rounds than there are kinds of findings that hide another. */
const ROUNDS = 8;

/**
 * Makes a draft one that lint accepts: what it refuses in a schema or in an operation is left out, and each file gets an example. Returns what was left
 * out, and the findings that are left.
 */
export async function repaired(
  draft: Draft,
  folder: (draft: Draft) => ContractFolder,
): Promise<{ repairs: Repair[]; findings: Finding[] }> {
  const repairs: Repair[] = [];
  for (let round = 0; ; round++) {
    prune(draft);
    addExamples(folder(draft), draft.schemas);
    const findings = await lint(folder(draft));
    const before = repairs.length;
    // The last of a list first, so that the places of others stay.
    for (const finding of [...findings].reverse()) {
      if (round === ROUNDS) break;
      const repair = { ...finding, ...(messageOf(finding, draft) ?? { pointer: removable(finding) }) };
      const root = repair.file === "contract.json" ? draft.contract : draft.schemas[repair.file];
      if (repair.pointer !== undefined && root && remove(root, repair.pointer))
        repairs.push({ ...repair, pointer: repair.pointer });
    }
    if (repairs.length === before) return { repairs, findings };
  }
}

/** The message of a finding that says that a schema can be none. */
function messageOf({ file, rule }: Finding, { contract }: Draft): { file: string; pointer: string } | undefined {
  if (!["kind", "type", "tag", "shape"].includes(rule)) return undefined;
  const messages = Object.entries<Source>((contract.messages ?? {}) as Source);
  const name = messages.find(([, { schema }]) => schema === file)?.[0];
  return name === undefined ? undefined : { file: "contract.json", pointer: `/messages/${escapeStep(name)}` };
}

/** The pointer to what can be left out, so that a finding is no more: a keyword of a schema or of a parameter, or an operation. */
function removable({ file, pointer, rule }: Finding): string | undefined {
  const steps = parsePointer(pointer);
  if (file === "contract.json") {
    const [kind, name, place] = steps;
    if (kind !== "operations" || name === undefined) return undefined;
    const isKeyword = place === "parameters" && steps[4] !== undefined && !["in", "type"].includes(steps[4]);
    return pointer
      .split("/")
      .slice(0, isKeyword ? 6 : 3)
      .join("/");
  }
  if (steps.length === 0) return undefined;
  if (rule === "example")
    return /\/default(?=\/|$)/.test(pointer) ? pointer.replace(/(.*\/default)(\/.*)?$/, "$1") : undefined;
  return ["keyword", "ref", "pattern", "secret", "tolerance"].includes(rule) ? pointer : undefined;
}

function remove(root: object, pointer: string): boolean {
  const steps = parsePointer(pointer);
  const last = steps.pop()!;
  const owner = valueAt(root, steps) as Record<string, unknown> | undefined;
  if (typeof owner !== "object" || owner === null || !Object.hasOwn(owner, last)) return false;
  delete owner[last];
  return true;
}

/** Leaves out messages that no stream has, streams without messages, and files that nothing refers to. */
function prune({ contract, schemas }: Draft): void {
  const { messages, methods, operations = {} } = contract as Source;
  if (methods === undefined) {
    for (const [name, { answer }] of Object.entries<Source>(operations)) {
      if (!answer?.stream) continue;
      answer.stream.messages = answer.stream.messages.filter((one: string) => Object.hasOwn(messages, one));
      if (answer.stream.messages.length === 0) delete operations[name];
    }
    const said = new Set(
      Object.values<Source>(operations).flatMap(({ answer }) => (answer.stream?.messages ?? []) as string[]),
    );
    for (const name of Object.keys(messages ?? {})) if (!said.has(name)) delete messages[name];
  }
  const reached = new Set<string>();
  const waiting = Object.keys(schemas).filter((file) => JSON.stringify(contract).includes(`"${file}"`));
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const root = schemas[file];
    if (reached.has(file) || root === undefined) continue;
    reached.add(file);
    for (const { schema } of subschemas(root))
      if (typeof schema.$ref === "string") waiting.push(fileOf(schema.$ref.split("#")[0]!, file) ?? file);
  }
  for (const file of Object.keys(schemas)) if (!reached.has(file)) delete schemas[file];
}
