import type { Parameter } from "@parlance/contract";
import { type Flaw, isObject } from "@parlance/wire";
import type { Conversations } from "../conversation.js";
import { PLACEHOLDER } from "../redaction/placeholders.js";
import type { Open } from "./finding.js";

const IS_REDACTED = new RegExp(PLACEHOLDER.source);

/** Whether the value at an error, or around it, was redacted: a schema does not apply to a placeholder. */
export function isRedacted({ at }: Flaw, text: string | undefined): boolean {
  if (text === undefined || !IS_REDACTED.test(text)) return false;
  try {
    let value: unknown = JSON.parse(text);
    for (const step of at.split("/").slice(1))
      value =
        isObject(value) || Array.isArray(value)
          ? (value as never)[step.replaceAll("~1", "/").replaceAll("~0", "~")]
          : undefined;
    return typeof value === "string" && IS_REDACTED.test(value);
  } catch {
    return false;
  }
}

/** Whether the value of a parameter at an error was redacted. What is none of the call's parameters is in the body. */
export function isRedactedParameter(
  { at }: Flaw,
  { method, target, headers }: Pick<Open, "method" | "target" | "headers">,
  talk: Conversations,
): boolean {
  const name = at.split("/")[1]?.replaceAll("~1", "/").replaceAll("~0", "~") ?? "";
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
