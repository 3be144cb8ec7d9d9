import type { Side } from "./contract/contract.js";
import type { AnyMessage, Json } from "./contract/schema.js";
import type { Gap } from "./resume.js";

/**
 * Names an error class, and lets `instanceof` recognize errors of another copy of this module: its other build, or another
 * version. A handler may throw one.
 */
export function branded(kind: abstract new (...args: never[]) => Error, name: string): void {
  const brand = Symbol.for(`@parlance/${name}`);
  Object.assign(kind.prototype, { name, [brand]: true });
  Object.defineProperty(kind, Symbol.hasInstance, {
    // A subclass recognizes only its own instances.
    value(this: typeof kind, error: { [brand]?: true } | null | undefined) {
      // biome-ignore lint/suspicious/noPrototypeBuiltins: the prototype of a class of errors has it
      return this === kind ? !!error?.[brand] : this.prototype.isPrototypeOf(error as object);
    },
  });
}

/** Characters of an error's message. The rest is in its `details`, or is the caller's own. */
export const MAX_MESSAGE = 500;

/** Characters of a name that a message quotes. */
export const MAX_NAME = 100;

/** Characters of a body or an address that a message quotes. */
export const MAX_QUOTED = 200;

/** Characters of a body that `details` keep. */
const MAX_BODY = 64 * 1024;

/** A text on one line, cut after so many characters: messages of errors are logged line by line. */
export function brief(text: string, most = MAX_MESSAGE): string {
  // Of a long text no more is read than could be used.
  const line = text
    .slice(0, 4 * most)
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  if (line.length <= most && text.length <= 4 * most) return line;
  return `${line.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/**
 * Quotes a body for an error: `text` on one line for the message, and all of it for the details where it is longer. Of a page the text is its
 * title. JSON above 200 characters has no text, because its beginning explains nothing.
 */
export function quoteBody(
  body: string,
  most = MAX_QUOTED,
): { readonly text?: string; readonly details?: { readonly body: string } } {
  const isMarkup = /^\s*[<{[]/.test(body);
  const text = brief(body, isMarkup ? MAX_QUOTED : most);
  if (text === body.trim() && !text.startsWith("<")) return { text };
  const shown = isMarkup ? brief(/<title>([^<]*)/i.exec(body)?.[1] ?? "", MAX_QUOTED) : text;
  return { ...(shown && { text: shown }), details: { body: body.slice(0, MAX_BODY) } };
}

/** A mistake in the caller's code, such as an option of the wrong form. Nothing was sent. */
export function misuse(message: string): TypeError {
  return Object.assign(new TypeError(brief(message)), { code: "usage" });
}

/**
 * Checks the limits and times among a caller's options.
 *
 * @throws `TypeError` with the code `usage` for one that is not a number of at least 0
 */
export function assertLimits(options: object, ...names: readonly string[]): void {
  for (const name of names) {
    const value = (options as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined && !(typeof value === "number" && value >= 0))
      throw misuse(`${name} is a number of at least 0, not ${String(value)}`);
  }
}

/** The form of each option in words: those of its `typeof`, or "list" for an array. */
export type Forms = Readonly<Record<string, string>>;

/**
 * Checks the forms of a caller's options. An option that is left out, or undefined, has every form.
 *
 * @throws `TypeError` with the code `usage` that names the option of another form
 */
export function assertForms(options: object, forms: Forms): void {
  if (kindOf(options) !== "object") throw misuse("options must be an object");
  for (const [name, form] of Object.entries(forms)) {
    const kind = kindOf((options as Readonly<Record<string, unknown>>)[name]);
    if (kind !== "undefined" && !form.includes(kind)) throw misuse(`${name} must be ${form}, not ${kind}`);
  }
}

/** @throws `TypeError` with the code `usage` for a profile that the contract does not have */
export function assertProfile(
  { name, profiles = {} }: { readonly name: string; readonly profiles?: object },
  profile: string | undefined,
): void {
  if (profile === undefined || Object.hasOwn(profiles, profile)) return;
  const known = Object.keys(profiles).join(", ") || "none";
  throw misuse(`${name} has no profile ${JSON.stringify(profile)}: it has ${known}`);
}

/** A `Map` or a `Headers` is no object here: it has no named fields, so that its entries would be ignored. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "list";
  if (typeof value !== "object") return typeof value;
  return value === null ? "null" : Symbol.iterator in value ? "iterable" : "object";
}

export interface RefusalDetails {
  /** HTTP status; on a stream or channel, the status that the protocol's code stands for, where it has one. */
  readonly status?: number | undefined;
  /** The protocol's own error code, where it has codes. */
  readonly code?: string | undefined;
  /** What the protocol adds to its error. `body`: an answer that is not in the protocol's form, or a text too long for a message. */
  readonly details?: Json | undefined;
  /** The value of the protocol's `recoverable`. */
  readonly recoverable?: boolean | undefined;
  /** Seconds after which the peer may be asked again (`Retry-After`, RFC 9110 section 10.2.3). */
  readonly retryAfter?: number | undefined;
  /** The answer had no body. With 400 it may come from an HTTP parser, after a request was cut in transit. */
  readonly bare?: boolean | undefined;
}

/** The peer refused a request with the protocol's own error. A handler throws it to refuse. */
export class Refusal extends Error {
  static {
    branded(Refusal, "Refusal");
  }
  declare readonly name: "Refusal";
  declare readonly status: number | undefined;
  declare readonly code: string;
  declare readonly details: Json | undefined;
  declare readonly recoverable: boolean | undefined;
  declare readonly retryAfter: number | undefined;
  declare readonly bare: boolean | undefined;

  constructor(message: string, details: RefusalDetails = {}) {
    super(message);
    const { status, code = status === undefined ? "refused" : `status_${status}` } = details;
    Object.assign(this, details, { code });
  }

  /** Whether the same request may succeed later: 408, 429, 502, 503, 504, or the protocol's `recoverable`. */
  get retryable(): boolean {
    return this.recoverable ?? [408, 429, 502, 503, 504].includes(this.status ?? 0);
  }
}

export type ViolationCode =
  | "malformed_json"
  | "not_an_object"
  | "forbidden_key"
  | "too_deep"
  | "too_large"
  | "schema"
  | "unknown_message"
  | "unknown_operation"
  | "content_type"
  | "opening"
  | "format"
  | "not_a_request"
  | "duplicate_id"
  | "unknown_id";

/** One way in which a body breaks its schema. */
export interface Flaw {
  /** JSON Pointer into the wire form; empty for the whole. */
  readonly at: string;
  /** The schema keyword that failed, and its requirement. */
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** In a union that a constant tells apart: the constant of the alternative that was checked. */
  readonly branch?: unknown;
}

/** Describes the first three flaws, such as "`diffs` is missing", and counts the rest. */
export function describe(flaws: readonly Flaw[]): string {
  const words = flaws
    .slice(0, 3)
    .map(({ at, keyword, branch, params: { missingProperty: missing, found, ...params } }) => {
      const place = missing ? `${at}/${missing}` : at;
      const name = place ? `\`${brief(place.slice(1).replaceAll("/", "."), MAX_NAME)}\`` : "the body";
      const isValue = /^(const|enum|type)$/.test(keyword);
      const wanted = brief(
        Object.values(params)
          .flat()
          .join(isValue ? " or " : " "),
        MAX_QUOTED,
      );
      const how = missing
        ? "is missing"
        : isValue
          ? `must be ${wanted}${found === undefined ? "" : `, not ${brief(JSON.stringify(found), MAX_NAME)}`}`
          : /Of$/.test(keyword)
            ? `fits ${params.passingSchemas ? "more than one" : "no"} alternative`
            : `breaks ${keyword} ${wanted}`;
      return `${name} ${how}${typeof branch === "string" ? ` in ${brief(branch, MAX_NAME)}` : ""}`;
    });
  if (flaws.length > 3) words.push(`${flaws.length - 3} more`);
  return words.join(", ");
}

export interface ViolationDetails {
  readonly code: ViolationCode;
  readonly protocol: string;
  /** The side that broke the contract. */
  readonly side: Side;
  /** The message, operation or channel it is about. */
  readonly subject?: string | undefined;
  readonly flaws?: readonly Flaw[] | undefined;
  readonly details?: { readonly body: string } | undefined;
  readonly cause?: unknown;
}

/** A message, request or answer broke the contract. */
export class Violation extends Error {
  static {
    branded(Violation, "Violation");
  }
  declare readonly name: "Violation";
  declare readonly code: ViolationCode;
  declare readonly protocol: string;
  declare readonly side: Side;
  declare readonly subject: string | undefined;
  declare readonly flaws: readonly Flaw[];
  /** The body that broke the contract, up to 64 Ki characters, where the message does not quote it. */
  declare readonly details: { readonly body: string } | undefined;

  constructor(what: string, { flaws = [], cause, ...details }: ViolationDetails) {
    super(`${details.protocol}: ${brief(what)} (from the ${details.side})`, { cause });
    Object.assign(this, details, { flaws });
  }
}

export type DisconnectedCode = "unreachable" | "timeout" | "ended_early" | "closed" | "idle" | "slow_reader" | "gap";

export interface DisconnectedDetails {
  readonly code: DisconnectedCode;
  readonly retryable: boolean;
  readonly missing?: Gap | undefined;
  readonly unconfirmed?: readonly AnyMessage[] | undefined;
  readonly details?: DisconnectedInfo | undefined;
  readonly cause?: unknown;
}

export interface DisconnectedInfo {
  /** The bytes that came in place of an end, or the last part of a program's standard error. */
  readonly body: string;
  /** How a program has ended that was started. */
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
}

/** No answer came, or a stream stopped without one of its end messages. */
export class Disconnected extends Error {
  static {
    branded(Disconnected, "Disconnected");
  }
  declare readonly name: "Disconnected";
  declare readonly code: DisconnectedCode;
  /** Whether trying again cannot repeat an effect: false when the peer may have received something that must not be sent twice. */
  declare readonly retryable: boolean;
  /** With `gap`: the missed messages that are no longer held. */
  declare readonly missing: Gap | undefined;
  /** On a channel: messages that were sent and may not have been received. */
  declare readonly unconfirmed: readonly AnyMessage[];
  /** What came in place of an end, or how a program has ended that was started. */
  declare readonly details: DisconnectedInfo | undefined;

  constructor(message: string, { unconfirmed = [], cause, ...details }: DisconnectedDetails) {
    super(brief(message), { cause });
    Object.assign(this, details, { unconfirmed });
  }
}

/** Creates a `Disconnected` from positional arguments, which keeps its many calls small in a page. */
export function disconnected(
  what: string,
  code: DisconnectedCode,
  retryable: boolean,
  cause?: unknown,
  unconfirmed?: readonly AnyMessage[],
): Disconnected {
  return new Disconnected(what, { code, retryable, cause, unconfirmed });
}

/** Calls a user's callback without a result. Passes its error or rejection to `fail` only. */
export function notify<T>(
  callback: ((value: T) => unknown) | undefined,
  value: T,
  fail: (error: unknown) => void,
): void {
  try {
    // An async callback that rejects would end a Node process.
    (callback?.(value) as Partial<Promise<unknown>> | undefined)?.then?.(undefined, fail);
  } catch (error) {
    fail(error);
  }
}
