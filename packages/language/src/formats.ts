import { fastFormats } from "ajv-formats/dist/formats.js";

// RFC 3339, section 5.6 and appendix C: days that there are.
const DATE =
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))" +
  "|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)";

const two = (hour: number) => String(hour % 24).padStart(2, "0");
const hours = [...Array(24).keys()];
const CLOCK = "(?:[01]\\d|2[0-3]):[0-5]\\d";
const ANY_TIME = `${CLOCK}:(?:[0-5]\\d|60)(?:\\.\\d+)?(?:z|[+-]${CLOCK})`;
/** A leap second is 23:59:60 in UTC, and so the last second of an hour where an offset is of whole hours. */
const TIME =
  `(?:${CLOCK}:[0-5]\\d(?:\\.\\d+)?(?:z|[+-]${CLOCK})|23:59:60(?:\\.\\d+)?z` +
  `|(?=${hours.map((east) => `${two(23 + east)}.+\\+${two(east)}`).join("|")}|${hours.map((west) => `${two(47 - west)}.+-${two(west)}`).join("|")})` +
  "\\d\\d:59:60(?:\\.\\d+)?[+-]\\d\\d:00)";

// RFC 5321, section 4.1.2; RFC 6531 allows other characters.
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const ATOM = "[a-z0-9!#$%&'*+/=?^_`{|}~-]+";
const WORD = '[^\\s@"<>()\\[\\]\\\\,;:.]+';
const LITERAL = "\\[(?:(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)(?:\\.(?!\\])|(?=\\]))){4}|IPv6:[0-9a-f:.]{2,})\\]";

// RFC 5892: the letters of a label, and those that depend on their neighbours (appendix A).
const DOT = "[.\\u3002\\uff0e\\uff61]";
const IN_LABEL = "[^.\\u3002\\uff0e\\uff61]";
const JAPANESE = "[\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Han}]";
const VIRAMA =
  "[\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca\\u0e3a\\u0f84\\u1039\\u1714\\u17d2]";
const UNICODE_LABEL =
  `(?!\\p{M}|-|${IN_LABEL}{2}--|${IN_LABEL}*\\u30fb(?<!${IN_LABEL}*${JAPANESE}${IN_LABEL}*)(?!${IN_LABEL}*${JAPANESE})` +
  `|${IN_LABEL}*[\\u0660-\\u0669]${IN_LABEL}*[\\u06f0-\\u06f9]|${IN_LABEL}*[\\u06f0-\\u06f9]${IN_LABEL}*[\\u0660-\\u0669])` +
  "(?:(?![\\u0640\\u07fa\\u302e\\u302f\\u3031-\\u3035\\u303b])[\\p{L}\\p{Mn}\\p{Mc}\\p{Nd}\\u3007\\u06fd\\u06fe\\u0f0b-]" +
  "|(?<=l)\\u00b7(?=l)|\\u0375(?=\\p{sc=Grek})|(?<=\\p{sc=Hebr})[\\u05f3\\u05f4]|\\u30fb" +
  `|(?<=${VIRAMA})\\u200d|(?<=${VIRAMA}|\\p{sc=Arab})\\u200c){1,63}(?<!-)`;
const IDN_LABEL = `(?:xn--(?=.{2,})[a-z0-9-]*[a-z0-9]|${UNICODE_LABEL})`;

/** Formats whose rules ajv-formats has only as functions, only roughly, or not at all. */
const OWN: Readonly<Record<string, RegExp>> = {
  date: new RegExp(`^${DATE}$`),
  time: new RegExp(`^${TIME}$`, "i"),
  "date-time": new RegExp(`^${DATE}t${TIME}$`, "i"),
  email: new RegExp(
    `^(?:${ATOM}(?:\\.${ATOM})*|"(?:[ !#-\\[\\]-~]|\\\\[ -~])*")@(?:${LABEL}(?:\\.${LABEL})*|${LITERAL})$`,
    "i",
  ),
  "idn-email": new RegExp(
    `^(?:${WORD}(?:\\.${WORD})*|"(?:[^"\\\\\\p{Cc}]|\\\\[^\\p{Cc}])*")@(?:${WORD}(?:\\.${WORD})*|${LITERAL})$`,
    "iu",
  ),
  "idn-hostname": new RegExp(`^(?=.{1,253}$)${IDN_LABEL}(?:${DOT}${IDN_LABEL})*$`, "iu"),
  // A host with a colon is an address of IPv6 in brackets.
  iri: /^[a-z][a-z0-9+.-]*:(?!\/\/[^/?#[\]@]*:[^/?#[\]@]*:[^@]*$)[^\s\\<>"{}|^`]*$/iu,
  "iri-reference": /^[^\s\\<>"{}|^`]*$/u,
};

/**
 * Formats that are known but not checked: regular expressions, those of OpenAPI's registry, and those that generators of schemas write
 * (schemars, pydantic, zod). A format is an annotation in 2020-12, so they pass any value.
 */
const UNCHECKED = (
  "regex int8 int16 int32 int64 uint uint8 uint16 uint32 uint64 float double decimal decimal128 float32 float64 " +
  "byte base64 base64url binary char password commonmark html http-date date-time-local time-local unixtime media-range " +
  "path file-path directory-path json-string cuid cuid2 ulid nanoid guid jwt emoji e164 cidrv4 cidrv6"
).split(" ");

/** The same for generated code, which computes what of a leap second an expression can only list. */
export const MOMENTS: ReadonlyMap<string, RegExp> = new Map([
  ["time", new RegExp(`^${ANY_TIME}$`, "i")],
  ["date-time", new RegExp(`^${DATE}t${ANY_TIME}$`, "i")],
]);

/** Every format that a schema may name without a declaration, with the expression that a string of it matches; true where nothing is checked. */
export const FORMATS: ReadonlyMap<string, RegExp | true> = new Map<string, RegExp | true>([
  ...UNCHECKED.map((name) => [name, true] as const),
  ...Object.entries(fastFormats).flatMap(([name, format]) => {
    const form = typeof format === "object" && "validate" in format ? format.validate : format;
    return form instanceof RegExp ? [[name, form] as const] : [];
  }),
  ...Object.entries(OWN),
]);

/** Whether a contract may not declare a format of this name, because JSON Schema defines it. */
export const isStandard = (name: string): boolean => FORMATS.get(name) instanceof RegExp || name === "regex";
