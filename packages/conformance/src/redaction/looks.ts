import type { NameKind } from "./names.js";

/** Long, without spaces, with a digit: not a word. */
export function looksSecret(value: string): boolean {
  return value.length >= 12 && /\d/.test(value) && !/\s/.test(value);
}

/** What else a long value with digits may be: an id, a date, a path, a file, a number with its unit. */
const OTHER =
  /^(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|\d{4}-\d\d-\d\d.*|\.{0,2}\/.*|(?:[\w@.-]+\/)+[\w@-]*\.\w{1,5}|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,5}|[A-Z]+(?:_[A-Z\d]+)+|(?:[a-z]\w*\.)+[A-Za-z_]\w*|\d[\d.,]*(?:-[a-z]+)*)$/i;

/** As `looksSecret`, and none of these. */
export const looksLikeNothingElse = (value: string): boolean => looksSecret(value) && !OTHER.test(value);

/** Whether a value is one of these, or a path or an algorithm. A number may be a PIN. */
export const isElse = (value: string): boolean =>
  (!/^\d{6,}$/.test(value) && OTHER.test(value)) || /^~\//.test(value) || ALGORITHM.test(value);
const ALGORITHM =
  /^(?:sha-?\d+|md5|utf-?\d+|base64|bcrypt|scrypt|argon2\w*|[aehrp]s\d{3}|aes-[\w-]+|v\d+(?:\.\d+)*[a-z]*|\d+(?:\.\d+)+[a-z]*|\d{1,5}[a-z]*|x509|varchar\d*|u?int\d+|0x[\da-f]+|_[a-z_]+)$/i;

/** Texts that stand for a secret in an example, words of schemas, options and forms, and what a form says. */
const EXAMPLE =
  /^your[-_ ]|^required\||^(?:must|should|please|enter|choose|forgot|(?:is )?(?:invalid|incorrect|wrong|missing|required)|at least|passwords?)\s\S+\s\S+|[-_]here\b|^(?:string|text|str|bytes|bool|boolean|number|any|required|optional|undefined|null|none|true|false|empty|invalid|missing|hidden|password|username|email|include|omit|same-origin|basic|bearer|digest|oauth2?)\s*$/i;

/** A part of a template alone. */
const TEMPLATE = /^(?:(?:bearer|basic|token|apikey)\s+)?\{[\w.()[\]'" ]*\}$/i;

/** An expression that names a value: a call, a property, an index, a type with parameters, a template's part. */
const CODE =
  /^(?:[&*!~]|\.{3}|(?:await|new|f|typeof|not)\s)?[A-Za-z_$][\w$]*(?:(?:[?!]?\.|::|->)[A-Za-z_$][\w$]*)*[!?]?(?:\(|<\w|\[[\w.'":-]*[[\]'"])|^[A-Za-z_$][\w$]*(?:(?:[?!]?\.|::|->)[A-Za-z_$][\w$]*)+[)\]};,]*$|^[&*!~][A-Za-z_$]\w*$|^[([{]|=>|[,;]$/i;

/** Whether a text is an expression of a program, and no value. */
export const isCode = (value: string): boolean => CODE.test(value) || (/[)\]}]$/.test(value) && !/[([{]/.test(value));

/** Whether a text is none of these, no placeholder and no variable: `$NAME`, `%NAME%`, `<name>`, `${name}`. */
export const mayBeSecret = (value: string): boolean =>
  value !== "" &&
  !/^[$%<]|^__redacted_\d+__/.test(value) &&
  !EXAMPLE.test(value) &&
  !TEMPLATE.test(value) &&
  !(value.includes("${") && value.replace(/\$\{[^}]*\}?/g, "").length < 8);

/** Whether a value is a secret by what its name says, and its own form. */
export function isSecret(kind: NameKind, value: string): boolean {
  if (kind === "plain" || value === "" || EXAMPLE.test(value)) return false;
  return kind === "secret" || (kind === "suspect" ? looksSecret(value) : looksLikeNothingElse(value));
}
