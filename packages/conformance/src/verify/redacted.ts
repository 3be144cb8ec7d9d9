import { type Flaw, isObject } from "@parlance/wire";
import { PLACEHOLDER } from "../placeholders.js";

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

/** Whether the value of a parameter at an error was redacted: in the path or the query, a header, or a cookie. */
export function isRedactedParameter(
  { at }: Flaw,
  { target, headers }: { readonly target: string; readonly headers: readonly (readonly [string, string])[] },
): boolean {
  const name = at.split("/")[1]?.replaceAll("~1", "/").replaceAll("~0", "~");
  if (name === undefined) return false;
  const [path, query = ""] = target.split("?");
  const cookies = headers.flatMap(([header, value]) => (/^cookie$/i.test(header) ? value.split("; ") : []));
  const values = [
    ...new URLSearchParams(query).getAll(name),
    ...headers.flatMap(([header, value]) => (header.toLowerCase() === name.toLowerCase() ? value : [])),
    ...cookies.flatMap((cookie) => (cookie.startsWith(`${name}=`) ? cookie : [])),
  ];
  // The contract says which segment of the path it is; one that is redacted is no other parameter's.
  return (values.length > 0 ? values : [path!]).some((value) => IS_REDACTED.test(value));
}
