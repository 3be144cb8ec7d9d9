import type { ChannelContract as Channel, Operation } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import { absences } from "../when.js";
import { namesObject, otherKinds } from "./kinds.js";
import { examplesOf, inContract, list, membersOf, type Subject } from "./subject.js";

/** Every call has one flat input, and every request is one call. */
export function* routes(subject: Subject): Generator<Finding> {
  const { operations, channels } = subject.contract;
  for (const [name, operation] of Object.entries(operations)) {
    yield* placeholders(operation, `/operations/${name}`);
    yield* input(operation, `/operations/${name}`, subject);
  }
  for (const [name, channel] of Object.entries(channels)) yield* placeholders(channel, `/channels/${name}`);
  yield* collisions(Object.entries(operations), "operations", subject);
  yield* collisions(Object.entries(channels), "channels", subject);
}

/** A segment with a parameter: the text before it, and the text after it. */
const PATTERN = /^([^{}]*)\{[^{}]+\}([^{}]*)$/;

const placeholdersOf = (path: string) => [...path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name!);

function* placeholders({ path, alsoAt = [], parameters = {} }: Operation | Channel, at: string): Generator<Finding> {
  const inPath = Object.keys(parameters).filter((name) => parameters[name]!.in === "path");
  for (const [template, pointer] of [[path, `${at}/path`], ...alsoAt.map((also, i) => [also, `${at}/alsoAt/${i}`])]) {
    yield* unreachable(template!, pointer!);
    const names = placeholdersOf(template!);
    for (const name of names.filter((one) => !inPath.includes(one)))
      yield inContract(
        "path",
        pointer!,
        `has {${name}}, which is not a path parameter; path parameters: ${list(inPath)}`,
      );
    for (const name of inPath.filter((one) => !names.includes(one)))
      yield inContract("path", pointer!, `has no {${name}}, which is declared as a path parameter`);
  }
}

/** A path that no request has, or whose parameters no request fills. */
function* unreachable(template: string, at: string): Generator<Finding> {
  const names = placeholdersOf(template);
  for (const segment of template.split("/"))
    if (/[{}]/.test(segment) && !PATTERN.test(segment))
      yield inContract(
        "path",
        at,
        `has the segment ${segment}, and a segment has one parameter, such as {${names[0] || "id"}} or {${names[0] || "id"}}:cancel; every call would be refused`,
      );
  for (const [index, name] of names.entries())
    if (names.indexOf(name) < index)
      yield inContract("path", at, `has {${name}} twice; give each parameter a name of its own`);
  // Another rule reports a path that begins with no slash.
  if (!template.startsWith("/")) return;
  const plain = template.replace(/\{[^{}]*\}/g, "x");
  const { pathname } = new URL(`http://localhost${plain}`);
  if (/[?#]/.test(plain))
    yield inContract("path", at, "has a query or a fragment; write what is in the query as parameters");
  else if (pathname !== plain && !/[{}]/.test(plain))
    yield inContract("path", at, `is ${plain}, which a request never has: it is sent as ${pathname}; write that`);
}

function* input(
  { method, parameters = {}, when = {}, body }: Operation,
  at: string,
  subject: Subject,
): Generator<Finding> {
  const schema = subject.schemas[body ?? ""];
  const { properties = {} } = membersOf(subject, body) ?? {};
  const others = body === undefined ? undefined : otherKinds(subject, body);
  const isUntyped = schema !== undefined && !namesObject(subject, body!) && Object.keys(properties).length === 0;
  if (others !== undefined || (isUntyped && !subject.broken.has(body!))) {
    yield inContract(
      "input",
      `${at}/body`,
      `${body} must describe an object, because a body's properties become part of one flat input`,
    );
    return;
  }
  if (body !== undefined && method === "GET")
    yield inContract(
      "input",
      `${at}/body`,
      "stands on a GET, which no client sends with a body; write its properties as parameters in the query, or use POST",
    );
  for (const name of Object.keys(properties))
    if (Object.hasOwn(parameters, name))
      yield inContract(
        "input",
        `${at}/parameters/${name}`,
        `has the name of a property of ${body}, and both are part of one flat input; rename one of them`,
      );
  if (body !== undefined && !membersOf(subject, body)) return;
  for (const [name, value] of Object.entries(when)) {
    const place = Object.hasOwn(parameters, name) ? parameters[name]!.in : undefined;
    if (typeof value === "object" && value !== null)
      yield inContract(
        "when",
        `${at}/when/${escapeStep(name)}`,
        "is not a constant; write a string, a number, true, false or null",
      );
    else if (place !== undefined && mistyped(value, parameters[name]!.type))
      yield inContract(
        "when",
        `${at}/when/${escapeStep(name)}`,
        `is ${JSON.stringify(value)}, and no value of the ${parameters[name]!.type} ${name} equals it`,
      );
    if (!Object.hasOwn(properties, name) && place !== "query")
      yield inContract("when", `${at}/when/${name}`, `${name} is neither a property of the body nor a query parameter`);
    for (const [index, example] of examplesOf(subject, body).entries()) {
      const said = (example as Record<string, unknown> | null)?.[name];
      if (place === undefined && said !== undefined && said !== value)
        yield {
          rule: "when",
          file: body!,
          pointer: `/examples/${index}/${name}`,
          message: `is ${JSON.stringify(said)}, and contract.json#${at}/when says ${JSON.stringify(value)}`,
        };
    }
  }
}

const mistyped = (value: unknown, type: string) =>
  type === "integer" ? !Number.isInteger(value) : typeof value !== type;

function* collisions(calls: [string, Operation | Channel][], kind: string, subject: Subject): Generator<Finding> {
  const places = calls.flatMap(([name, call]) =>
    [call.path, ...(call.alsoAt ?? [])].map((template) => ({ name, call, template })),
  );
  const absent = absences(subject.source.operations ?? {}, (file) => membersOf(subject, file));
  const isAbsent = (call: Operation | Channel, name: string) =>
    calls.some(([operation, one]) => one === call && absent.get(operation)?.includes(name));
  for (const [index, one] of places.entries())
    for (const other of places.slice(0, index)) {
      if (one.name === other.name || !meet(one.template, other.template) || apart(one.call, other.call, isAbsent))
        continue;
      const [first, second] = [one.call, other.call] as Operation[];
      if (first!.method !== second!.method) continue;
      const when = first!.when || second!.when;
      yield inContract(
        when ? "when" : "route",
        `/${kind}/${one.name}/${when && first!.when ? "when" : "path"}`,
        when
          ? `does not distinguish ${one.name} from ${other.name}, which has the same route; give both a "when" with one property and different values, and require the property in one of them, or give it a default there`
          : `${one.template} is also the route of ${other.name} (${other.template})`,
      );
    }
}

/** Whether some path fits both templates and neither wins: a literal segment beats a parameter, and more text beside a parameter less. */
function meet(one: string, other: string): boolean {
  const left = one.split("/");
  const right = other.split("/");
  if (left.length !== right.length) return false;
  const pairs = left.map((segment, index) => narrower(segment, right[index]!));
  if (pairs.includes("apart")) return false;
  return pairs.includes("neither") || pairs.includes("first") === pairs.includes("second");
}

/** Which of two segments fits less. `apart`: no text fits both; `neither`: each also fits what the other does not. */
function narrower(one: string, other: string): "first" | "second" | "same" | "apart" | "neither" {
  const [first, second] = [PATTERN.exec(one), PATTERN.exec(other)];
  if (!first && !second) return one === other ? "same" : "apart";
  if (!first) return fits(one, second!) ? "first" : "apart";
  if (!second) return fits(other, first) ? "second" : "apart";
  const [[, before = "", after = ""], [, start = "", end = ""]] = [first, second];
  if (before === start && after === end) return "same";
  if (before.startsWith(start) && after.endsWith(end)) return "first";
  if (start.startsWith(before) && end.endsWith(after)) return "second";
  const crossing =
    (before.startsWith(start) || start.startsWith(before)) && (after.endsWith(end) || end.endsWith(after));
  return crossing ? "neither" : "apart";
}

function fits(segment: string, [, before = "", after = ""]: RegExpExecArray): boolean {
  return segment.length > before.length + after.length && segment.startsWith(before) && segment.endsWith(after);
}

/** Whether `when` tells two calls apart: one name, two values, and not both meant where the name is absent. */
function apart(
  one: Operation | Channel,
  other: Operation | Channel,
  isAbsent: (call: Operation | Channel, name: string) => boolean,
): boolean {
  if (!("method" in one) || !("method" in other)) return false;
  const { when = {} } = other;
  return Object.entries(one.when ?? {}).some(
    ([name, value]) =>
      Object.hasOwn(when, name) && when[name] !== value && !(isAbsent(one, name) && isAbsent(other, name)),
  );
}
