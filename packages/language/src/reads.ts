import type { Contract, Reader, Reading, Reads, Side } from "@parlance/wire";
import { parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import { isObject } from "@parlance/wire/json";

/**
 * Reading rules and tags as the contract has them, interpreted step by step: for tools that load a contract at run time. Generated code has them as
 * statements, and its tests compare it with this.
 */

/** The readers of one side's messages and bodies. */
export function readsOf(contract: Contract, side: Side): Reads {
  const rules = (contract.reading ?? []).filter(({ of }) => of === side);
  const reader = (operation?: string): Reader | undefined => {
    const own = rules.filter((rule) => rule.operation === operation);
    return own.length === 0 ? undefined : (body) => own.reduce(readPlainly, body);
  };
  const operations = rules.flatMap(({ operation }) => operation ?? []);
  const names = Object.keys(contract.messages).filter((name) => writes(contract, side, name));
  return {
    message: reader(),
    operations: Object.fromEntries(operations.map((name) => [name, reader(name)!])),
    name: (body) => namePlainly(contract, names, undefined, body),
  };
}

function writes({ channels, operations }: Contract, side: Side, name: string): boolean {
  return (
    Object.values(channels).some((channel) => channel[side].includes(name)) ||
    (side === "server" && Object.values(operations).some(({ answer }) => answer.stream?.messages.includes(name)))
  );
}

type Body = Record<string, unknown>;

/** Every place that a pointer leads to: the parent value, and the key in it. */
function places(body: unknown, [part, ...rest]: readonly string[]): [Body, string][] {
  if (typeof body !== "object" || body === null) return [];
  const keys = part === "*" && Array.isArray(body) ? Object.keys(body) : [part!];
  return keys
    .filter((key) => Object.hasOwn(body, key))
    .flatMap((key): [Body, string][] =>
      rest.length === 0 ? [[body as Body, key]] : places((body as Body)[key], rest),
    );
}

export function readPlainly(body: unknown, rule: Reading): unknown {
  if (Object.entries(rule.where ?? {}).some(([pointer, value]) => valueAt(body, parsePointer(pointer)) !== value))
    return body;
  for (const [pointer, name] of Object.entries(rule.rename ?? {}))
    for (const [at, key] of places(body, parsePointer(pointer))) {
      if (!Object.hasOwn(at, name)) at[name] = at[key];
      delete at[key];
    }
  for (const pointer of rule.remove ?? []) for (const [at, key] of places(body, parsePointer(pointer))) delete at[key];
  for (const [pointer, pairs] of Object.entries(rule.values ?? {}))
    for (const [at, key] of places(body, parsePointer(pointer))) {
      const pair = pairs.find(([said]) => said === at[key]);
      if (pair?.length === 1) delete at[key];
      else if (pair) at[key] = structuredClone(pair[1]);
    }
  for (const pointer of rule.upper ?? [])
    for (const [at, key] of places(body, parsePointer(pointer)))
      if (typeof at[key] === "string") at[key] = (at[key] as string).toUpperCase();
  for (const [pointer, how] of Object.entries(rule.wrap ?? {}))
    for (const [at, key] of places(body, parsePointer(pointer))) {
      if (typeof at[key] !== "string") continue;
      if (how === "array") at[key] = [at[key]];
      else at[key] = { ...(how.position && { [how.position]: Number(key) + 1 }), [how.property]: at[key] };
    }
  for (const [pointer, value] of Object.entries(rule.default ?? {})) {
    const above = parsePointer(pointer);
    const last = above.pop()!;
    const holders = above.length === 0 ? [body] : places(body, above).map(([at, key]) => at[key]);
    for (const holder of holders)
      if (isObject(holder) && !Object.hasOwn(holder, last)) holder[last] = structuredClone(value);
  }
  const inner = rule.unwrap === undefined ? undefined : valueAt(body, parsePointer(rule.unwrap));
  return isObject(inner) || (rule.operation !== undefined && Array.isArray(inner)) ? inner : body;
}

/** The first name, in this order, whose tag a frame has. */
export function namePlainly(
  { tag, messages }: Contract,
  names: readonly string[],
  event: string | undefined,
  body: Body,
): string | undefined {
  return names.find((name) => {
    const { const: constants = {}, required = [], forbidden = [] } = messages[name]!.shape ?? {};
    if (tag.in === "event") return name === (event ?? "message");
    if (tag.in === "property") return name === (body[tag.property] ?? (tag.event ? event : undefined));
    return (
      Object.entries(constants).every(([key, value]) => body[key] === value) &&
      required.every((key) => Object.hasOwn(body, key)) &&
      !forbidden.some((key) => Object.hasOwn(body, key))
    );
  });
}
