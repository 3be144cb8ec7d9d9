// Secrets that a command or a file has at a place of its own, without a name.

import { mayBeSecret } from "./looks.js";
import type { KindOf } from "./names.js";
import type { Span } from "./span.js";

const OPEN = "\\\\{0,7}[\"'`]?";
const VALUE = "([^\\s\"'`\\\\|;]+)";
/** What may stand between a command and an option of it. */
const OPTIONS = "(?:\\s[^\\n|;&]{0,200}?)?\\s";

const expression = (source: string, flags = "g") => new RegExp(source, flags);

/** Each has one group, the secret. */
const PLACES: readonly RegExp[] = [
  expression(`\\b(?:mysql\\w*|mariadb[\\w-]*)${OPTIONS}-p(?!\\s)${OPEN}${VALUE}`),
  expression(`\\bsshpass\\s+-p\\s?${OPEN}${VALUE}`),
  expression(`\\b(?:redis-cli)${OPTIONS}-a\\s+${OPEN}${VALUE}`),
  expression(`\\b(?:docker|podman|az|helm|oras|skopeo|cf|oc)\\s(?:registry\\s)?login${OPTIONS}-p\\s+${OPEN}${VALUE}`),
  expression(`\\b(?:mongo\\w*|twine)${OPTIONS}-p\\s+${OPEN}${VALUE}`),
  expression(`\\bsqlcmd${OPTIONS}-P\\s+${OPEN}${VALUE}`),
  expression(`\\bhttps?${OPTIONS}-a\\s+${OPEN}[\\w.-]+:${VALUE}`),
  expression(`\\s-(?:store|key)pass\\s+${OPEN}${VALUE}`),
  expression(`--password-stdin\\s*<<<\\s*${OPEN}${VALUE}`),
  expression(`\\bldap\\w+${OPTIONS}-w\\s+${OPEN}${VALUE}`),
  expression(`\\bvault\\s+login\\s+(?:-[\\w=-]+\\s+)*(?![\\w-]+=)${OPEN}(?!-)${VALUE}`),
  expression(`\\bcurl${OPTIONS}(?:-b|--cookie)\\s+${OPEN}[\\w.-]+=${VALUE}`),
  expression(
    `\\b(?:echo|printf)\\s+(?:-n\\s+)?(?:["']%s(?:\\\\n)?["']\\s+)?${OPEN}(?:[\\w.-]+:)?${VALUE}${OPEN}\\s*\\|[^\\n|;&]{0,100}(?:--password-stdin|--with-token|--stdin|sudo\\s+-S|\\bchpasswd)`,
  ),
  /\bIDENTIFIED\s+(?:WITH\s+\S+\s+)?BY\s+(?:PASSWORD\s+)?\\{0,7}["']([^"'\r\n]+?)\\{0,7}["']/gi,
  // Redis.
  /^AUTH\s+(?:\S+\s+)?([^\s"'`,.]{4,})\s*$/gm,
  // The file .netrc.
  /\blogin\s+\S+\s+password\s+([^\s"'\\]+)/g,
  // The file .pgpass.
  /^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,64}:[\w*-]{1,64}:([^\s:"'\\]+)$/gm,
  /\bjdbc:oracle:\w+:[\w.]+\/([^@\s"'\\]+)@/g,
  /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/([\w/-]+)/g,
  /\bdiscord(?:app)?\.com\/api\/webhooks\/\d+\/([\w-]+)/g,
  /\bapi\.telegram\.org\/bot(\d+:[\w-]+)/g,
];

/** A word of each of them. */
const HINT =
  /mysql|mariadb|sshpass|redis-cli|login|ldap|mongo|twine|sqlcmd|http|pass|curl|echo|printf|IDENTIFIED|identified|AUTH|:(?:\d+|\*):|jdbc:|hooks\.|webhooks|telegram|\b(?:ENV|ARG|SetEnv|setx|setenv|set)\s/;

/** A command that sets a variable or an option to the word behind its name. */
const SETTING = expression(
  `\\b(?:ENV|ARG|SetEnv|setx|setenv|set\\s+-\\w+|(?:config|configure|secret)\\s+set)\\s+(?:\\S*[/:.])?([A-Za-z_][\\w.-]{0,80})\\s+(?:--body\\s+)?(?:-b\\s+)?(?=[^\\s=-])${OPEN}${VALUE}`,
);

/** Adds the secrets of commands and files. */
export function placedIn(text: string, kindOf: KindOf, found: Span[]): void {
  if (!HINT.test(text)) return;
  for (const place of PLACES) for (const match of text.matchAll(place)) add(match, match[1]!, found);
  for (const match of text.matchAll(SETTING)) if (kindOf(match[1]!) !== "plain") add(match, match[2]!, found);
}

function add(match: RegExpExecArray, secret: string, found: Span[]): void {
  if (!mayBeSecret(secret)) return;
  const from = match.index + match[0].lastIndexOf(secret);
  found.push({ from, to: from + secret.length });
}
