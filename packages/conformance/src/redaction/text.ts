import { assignedIn, listedIn } from "./assigned.js";
import { placedIn } from "./commands.js";
import { elementsIn } from "./elements.js";
import { linesIn } from "./lines.js";
import { isCode, looksSecret, mayBeSecret } from "./looks.js";
import { type KindOf, LATIN, OTHERS } from "./names.js";
import { toldIn } from "./prose.js";
import { settingsIn } from "./settings.js";
import type { Span } from "./span.js";
import { columnsIn, insertedIn } from "./tables.js";

/** Secrets that are known by their form. The first group that matches is the secret, or all of it. */
const FORMS = [
  /\b(?:Bearer|Basic)\s+([\w.~+/-]{8,}=*)/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*/g,
  /\b(?:sk|pk|rk)[-_][\w-]{16,}/g,
  /\b(?:gh[opsur]_\w{20,}|github_pat_\w{20,}|gl(?:pat|dt|rt|ft)-[\w-]{16,}|xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,})/g,
  /\b(?:(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|GOCSPX-[\w-]{20,}|hf_\w{20,}|npm_\w{30,}|pypi-[\w-]{30,}|dop_v1_\w{30,}|SG\.[\w-]{16,}\.[\w-]{16,}|shp(?:at|ca|pa|ss)_\w{20,})/g,
  // Up to the end of the text, if that comes first. A quote ends it, because the text may be JSON.
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[^"]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?=")|$)/g,
  // The password of a URL, whatever its characters. A port is none.
  /:\/\/[^\s/:"'<>]{0,256}:((?!\d+\/)[^\s"'<>]{2,512})@(?=[\w[])/g,
  /(?<=:\/\/)[\w-]{16,}(?=@)/g,
  /\b[\w.-]{1,64}:([^\s:@"'`]{2,200})(?=@(?:tcp|unix)\()/g,
  /\b(?:proxy-)?authorization\\?["']?\s*[:=]\s*\\?["'`]?(?:(?:Bearer|Basic|Token|ApiKey)\s+)?([^\s"'`,;\\]{4,})/gi,
  // Schemes with parameters.
  /\bauthorization\\?["']?\s*[:=]\s*\\?["']?(?:Digest|NTLM|Negotiate|Hawk|OAuth|Signature|AWS4-[\w-]+|HMAC[\w-]*)\s+([^\r\n]+)/gi,
  /\b(?:set-)?cookie\\?["']?\s*:\s*\\?["']?([\w.-]+=[^\r\n"'\\]+)/gi,
  // A bot of Telegram.
  /\/bot(\d{6,12}:[\w-]{30,})(?![\w-])/g,
  /(?:^|\s)(?:-u|--user)\s+[^\s:]+:([^\s"']{2,})/g,
];
/** A substring of each of them, or the separator of a name and its value. */
const HINT =
  /[=:]| is |["']\s*,|<|[Pp]ass|[Tt]oken|mysql|mariadb|mongo|twine|sqlcmd|redis|echo|printf|identified|IDENTIFIED|ldap|vault|\b[sS]et(?:x|env|Env| )|ENV|ARG|[Ss]ecret|[kK]ey|KEY|PASS|login|AUTH|hooks|zip|7z|useradd|usermod|keygen|openssl|client|Secure|_auth|VALUES|values|B(?:earer|asic)|eyJ|[sprk]k[-_]|gh[opsur]_|github_pat_|gl[prfd]|xox|xapp|AKIA|ASIA|AIza|ya29|GOCSPX|hf_|npm_|pypi-|dop_v1_|SG\.|shp[a-z]|--/;
const FOREIGN_HINT = new RegExp(`${LATIN}|${OTHERS}`, "i");

/**
 * The secrets of a text that are known by their form, or by their name. `isWhole` is false for texts that were joined: a sentence such as
 * "the password is …" may end where the next message begins.
 */
export function secretsIn(text: string, kindOf: KindOf, isWhole = true): Span[] {
  if (text.includes(`${ESCAPE}[`)) return uncoloured(text, (plain) => secretsIn(plain, kindOf, isWhole));
  if (text.length < 5 || !(HINT.test(text) || FOREIGN_HINT.test(text))) return [];
  const found: Span[] = [];
  for (const form of FORMS)
    for (const match of matches(text, form)) {
      const secret = match.slice(1).find((group) => group !== undefined) ?? match[0];
      // Words and a year, such as sk-learn-for-models-2024.
      if (/^[srp]k[-_]/.test(match[0]) && !/\d[A-Za-z]|[A-Za-z]\d/.test(secret)) continue;
      if (!mayBeSecret(secret) || (/uthorization/i.test(match[0]) && isCode(secret))) continue;
      // "Basic authentication" is prose.
      if (/^B(earer|asic)/.test(match[0]) && !looksSecret(secret)) continue;
      const from =
        match.index + match[0].indexOf(secret, match[1] === undefined ? 0 : match[0].length - secret.length - 1);
      found.push({ from, to: from + secret.length });
    }
  if (/[<;]/.test(text)) elementsIn(text, kindOf, found);
  placedIn(text, kindOf, found);
  settingsIn(text, kindOf, found);
  toldIn(text, found, isWhole);
  linesIn(text, kindOf, found, isWhole);
  columnsIn(text, kindOf, found);
  insertedIn(text, kindOf, found);
  return listedIn(text, kindOf, assignedIn(text, kindOf, found, isWhole)).filter(
    ({ from, to }) => to > from && !PART.test(text.slice(from, to)),
  );
}

const ESCAPE = "\u001b";
const CODES = new RegExp(`(${ESCAPE}\\[?[\\d;]*[A-Za-z]?)`);

/** What is found in a text without the codes of a terminal, where it stands in the text with them. */
function uncoloured(text: string, find: (plain: string) => Span[]): Span[] {
  const places: number[] = [];
  let at = 0;
  const parts = text.split(CODES);
  const plain = parts.filter((_, part) => part % 2 === 0).join("");
  for (const [part, { length }] of parts.entries()) {
    for (let i = 0; part % 2 === 0 && i < length; i++) places.push(at + i);
    at += length;
  }
  return find(plain).map(({ from, to }) => ({ from: places[from]!, to: places[to - 1]! + 1 }));
}

/** A placeholder, with or without its bars. */
const PART = /^_{0,2}redacted_\d+_{0,2}$/;

/** As `matchAll`, which makes a copy of the expression for each text. */
function matches(text: string, form: RegExp): readonly RegExpExecArray[] {
  form.lastIndex = 0;
  let match = form.exec(text);
  if (!match) return NONE;
  const found: RegExpExecArray[] = [];
  for (; match; match = form.exec(text)) found.push(match);
  return found;
}

const NONE: readonly RegExpExecArray[] = [];
