import type { Flaw, Parameter } from "@parlance/wire";
import { parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import type { Conversations } from "../conversation.js";
import { PLACEHOLDER } from "../redaction/known.js";
import type { Open } from "./finding.js";

const IS_REDACTED = new RegExp(PLACEHOLDER.source);

/** The keywords that choose a schema by the value. */
const CHOOSING = new Set(["oneOf", "anyOf", "if", "not", "contains"]);

/**
 * The flaws that are not for a placeholder: no schema applies to it. Where one stands within a value that fits none of several schemas, any of
 * them may be meant, so what each of them misses is no flaw.
 */
export function withoutRedacted(flaws: readonly Flaw[], text: string | undefined): readonly Flaw[] {
  if (text === undefined || !IS_REDACTED.test(text)) return flaws;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return flaws;
  }
  const open = flaws.filter(
    ({ at, keyword }) =>
      CHOOSING.has(keyword) && IS_REDACTED.test(JSON.stringify(valueAt(body, parsePointer(at))) ?? ""),
  );
  return flaws.filter(({ at }) => {
    const value = valueAt(body, parsePointer(at));
    if (typeof value === "string" && IS_REDACTED.test(value)) return false;
    return !open.some((choice) => at === choice.at || at.startsWith(`${choice.at}/`));
  });
}

/** Whether the value of a parameter at an error was redacted. What is none of the call's parameters is in the body. */
export function isRedactedParameter(
  { at }: Flaw,
  { method, target, headers }: Pick<Open, "method" | "target" | "headers">,
  talk: Conversations,
): boolean {
  const [name = ""] = parsePointer(at);
  const [path, query = ""] = target.split("?");
  const valuesIn: Readonly<Record<Parameter["in"], () => readonly string[]>> = {
    path: () => [path!],
    query: () => new URLSearchParams(query).getAll(name),
    header: () => headers.flatMap(([header, value]) => (header.toLowerCase() === name.toLowerCase() ? value : [])),
    cookie: () =>
      headers
        .flatMap(([header, value]) => (/^cookie$/i.test(header) ? value.split("; ") : []))
        .filter((cookie) => cookie.startsWith(`${name}=`)),
  };
  const [call = ""] = talk.namesAt(method, target) ?? [];
  const { parameters = {} } = talk.contract.operations[call] ?? talk.contract.channels[call] ?? {};
  const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  return parameter !== undefined && valuesIn[parameter.in]().some((value) => IS_REDACTED.test(value));
}
