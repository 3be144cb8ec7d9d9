import type { AnswerHeader, Contract, Parameter } from "./contract/contract.js";
import { misuse } from "./errors.js";
import { valueAt } from "./internal/pointer.js";

type Parameters = Readonly<Record<string, Parameter>>;
type Texts = Readonly<Record<string, string>>;

/** The valid values of a header. HTTP trims spaces, and peers read characters beyond ASCII differently. */
const VALUE = /^(?! )[ -~]*(?<! )$/;
/** The characters not allowed in a cookie's value (RFC 6265, section 4.1.1), and the escape character. */
const ESCAPED = /[^!#$&-+\--:<-[\]-~]/gu;

/** Adds the header and cookie parameters of an input to headers. Cookies follow those of `own`. */
export function bindHeaders(
  { name, operations }: Contract,
  operation: string,
  input: Readonly<Record<string, unknown>>,
  own: Texts,
): Texts {
  const { parameters = {} } = operations[operation]!;
  const isCookie = (key: string) => key.toLowerCase() === "cookie";
  const headers = Object.fromEntries(Object.entries(own).filter(([key]) => !isCookie(key)));
  const cookies = Object.keys(own).flatMap((key) => (isCookie(key) ? own[key]! : []));
  for (const [key, { in: place }] of Object.entries(parameters)) {
    const value = valueAt(input, [key]);
    if (value === undefined || (place !== "header" && place !== "cookie")) continue;
    const text = String(value);
    if (place === "header" ? !VALUE.test(text) : /\p{Surrogate}/u.test(text))
      throw misuse(`${name}.${operation}: ${key} is sent in a ${place} and may not be ${JSON.stringify(value)}`);
    if (place === "header") headers[key] = text;
    else cookies.push(`${key}=${text.replace(ESCAPED, encodeURIComponent)}`);
  }
  return cookies.length === 0 ? headers : { ...headers, Cookie: cookies.join("; ") };
}

/** The inverse of `bindHeaders`: the texts of the parameters that a request carries. Of two cookies of one name the first counts. */
export function unbindHeaders(parameters: Parameters, headers: Pick<Headers, "get">): Record<string, string> {
  const carried: Record<string, string> = {};
  let cookies: ReadonlyMap<string, string> | undefined;
  for (const [key, { in: place }] of Object.entries(parameters)) {
    if (place !== "header" && place !== "cookie") continue;
    cookies ??= cookiesOf(headers.get("Cookie") ?? "");
    const value = place === "header" ? headers.get(key) : cookies.get(key);
    if (value !== null && value !== undefined) carried[key] = value;
  }
  return carried;
}

function cookiesOf(header: string): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of header.split(";").reverse()) {
    const equals = pair.indexOf("=");
    if (equals < 0) continue;
    const value = pair.slice(equals + 1).trim();
    const quoted = value.length > 1 && value.startsWith('"') && value.endsWith('"');
    cookies.set(pair.slice(0, equals).trim(), unescaped(quoted ? value.slice(1, -1) : value));
  }
  return cookies;
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Headers of an answer as they are sent. Throws `TypeError` for a value that HTTP would change. */
export function bindAnswer(what: string, values: Readonly<Record<string, unknown>>): Record<string, string> {
  const known = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    known.map(([key, value]) => {
      if (VALUE.test(String(value))) return [key, String(value)];
      throw misuse(`${what}: ${key} is sent in a header and may not be ${JSON.stringify(value)}`);
    }),
  );
}

/** The inverse of `bindAnswer`: the declared headers of an answer, each with its type. */
export function unbindAnswer(
  declared: Readonly<Record<string, AnswerHeader>>,
  headers: Headers,
): Record<string, unknown> {
  const found = Object.entries(declared).flatMap(([key, { type }]) => {
    const value = headers.get(key);
    return value === null ? [] : [[key, coerce(value, { type })] as const];
  });
  return Object.fromEntries(found);
}

/** Values outside the body are text; a number or boolean that is not one stays text and fails its schema. */
export function coerce(said: string, { type }: Pick<Parameter, "type">): unknown {
  if (type === "boolean" && (said === "true" || said === "false")) return said === "true";
  if ((type === "integer" || type === "number") && /^-?\d+(\.\d+)?$/.test(said) && Number.isFinite(Number(said)))
    return Number(said);
  return said;
}

/** The title of the schema of an operation's or channel's flat input, or of the headers that it answers. */
export function inputName(name: string, part: "Input" | "Headers" = "Input"): string {
  return `${name[0]!.toUpperCase()}${name.slice(1)}${part}`;
}
