// Secrets that a command or a file has at a place of its own, without a name.

import { mayBeSecret } from "./looks.js";
import type { KindOf } from "./names.js";
import type { Span } from "./span.js";

const OPEN = "\\\\{0,7}[\"'`]?";
const QUOTE = "\\\\{0,7}[\"'`]";
const QUOTED = `${QUOTE}([^"'\`\\\\\\n]{2,200})`;
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
  expression(`(?:--password-stdin|\\bsecret\\s+(?:set|create)\\b[^\\n|;&<]{0,100})\\s*<<<\\s*${OPEN}${VALUE}`),
  expression(`\\bldap\\w+${OPTIONS}-w\\s+${OPEN}${VALUE}`),
  expression(`\\bvault\\s+login\\s+(?:-[\\w=-]+\\s+)*(?![\\w-]+=)${OPEN}(?!-)${VALUE}`),
  expression(`\\bcurl${OPTIONS}(?:-b|--cookie)\\s+${OPEN}[\\w.-]+=${VALUE}`),
  expression(
    `\\b(?:echo|printf)\\s+(?:-n\\s+)?(?:["']%s(?:\\\\n)?["']\\s+)?${OPEN}(?:[\\w.-]+:)?${VALUE}${OPEN}\\s*\\|[^\\n|;&]{0,100}(?:--password-stdin|--with-token|--stdin|sudo\\s+-S|\\bchpasswd|\\bsecret\\s+(?:set|create|versions\\s+add)|\\bpasswd\\b)`,
  ),
  expression(`\\bssh-keygen${OPTIONS}-[NP]\\s+${OPEN}${VALUE}`),
  expression(`\\b7z[ar]?${OPTIONS}-p(?!\\s)${OPEN}${VALUE}`),
  expression(`\\b(?:useradd|usermod)${OPTIONS}-p\\s+${OPEN}${VALUE}`),
  expression(`\\bSET\\s+PASSWORD\\s+(?:FOR\\s+[^=\\n]{1,100})?=\\s*(?:PASSWORD\\()?${QUOTED}`, "gi"),
  expression(`\\b(?:cat|head|tail|less)\\s+\\S*(?:secrets?/|secret|password|token)\\S*\\s*\\r?\\n${VALUE}\\s*$`, "gm"),
  expression(`\\bcurl${OPTIONS}(?:-[A-Za-z]{0,6}[uU]\\s*|--(?:proxy-)?user[\\s=]+)${OPEN}[^\\s:]+:${VALUE}`),
  expression(`\\b(?:un)?zip${OPTIONS}-P\\s*${OPEN}${VALUE}`),
  expression(`\\bopenssl${OPTIONS}-(?:k|pass(?:in|out)?\\s+pass:)\\s*${OPEN}${VALUE}`),
  expression(
    `\\bhtpasswd\\s+(?:-\\w{1,9}\\s+){0,3}?-\\w{0,9}b\\w{0,9}\\s+(?:-\\w{1,9}\\s+){0,3}[^-\\s]\\S{0,200}\\s+\\S{1,200}\\s+${OPEN}${VALUE}`,
  ),
  expression(`\\b(?:smb|rpc)client${OPTIONS}-U\\s*${OPEN}[^\\s%]+%${VALUE}`),
  expression(`\\bcargo\\s+login\\s+${OPEN}(?!-)${VALUE}`),
  expression(`(?:^|\\sset\\s+)(?:requirepass|masterauth)\\s+${OPEN}${VALUE}${OPEN}\\s*$`, "gim"),
  expression(`\\bConvertTo-SecureString\\s+(?:-String\\s+)?${OPEN}${VALUE}`, "gi"),
  expression(
    `${QUOTE}(?:mysql|mariadb)[\\w-]*${QUOTE}(?:\\s*,\\s*${QUOTE}[^"'\\n]{0,100}["']){0,12}?\\s*,\\s*${QUOTE}-p${VALUE}`,
  ),
  expression(`\\.bearer_auth\\(\\s*${QUOTE}${VALUE}`),
  expression(
    `(?:\\.basic_auth\\(|\\bHTTPBasicAuth\\(|\\bauth\\s*=\\s*\\()\\s*${QUOTE}[^"'\\n]{0,100}["']\\s*,\\s*(?:Some\\()?${QUOTE}${VALUE}`,
  ),
  /\b\w{0,10}proxy\\{0,7}["']?\s*[=:]\s*\\{0,7}["']?[^\s:/@"']{1,100}:([^\s"'\\]{2,200})@(?=[\w[])/gi,
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
  /mysql|mariadb|sshpass|redis-cli|login|ldap|mongo|twine|sqlcmd|http|pass|curl|echo|printf|IDENTIFIED|identified|AUTH|masterauth|:(?:\d+|\*):|jdbc:|hooks\.|webhooks|telegram|zip|openssl|(?:smb|rpc)client|proxy|Secure|secret|ssh-keygen|7z|user(?:add|mod)|_auth\(|BasicAuth|auth\s?=/i;

/** Each has two groups, a name and a value. */
const SETTINGS: readonly RegExp[] = [
  // A command that sets a variable or an option to the word behind its name.
  expression(
    `\\b(?:ENV|ARG|SetEnv|setx|setenv|set\\s+-\\w+|(?:config|configure|secret)\\s+set)\\s+(?:\\S*[/:.])?([A-Za-z_][\\w.-]{0,80})\\s+(?:--body\\s+)?(?:-b\\s+)?(?=[^\\s=-])${OPEN}${VALUE}`,
  ),
  // Another value where there is none: process.env.API_KEY || "…"
  expression(
    `\\b([A-Za-z_]\\w{0,80})(?:\\\\{0,7}["'])?[\\])]{0,2}\\s{0,3}(?:\\|\\||\\?\\?)\\s{0,3}(?!${QUOTE}[a-z]{1,12}["'\`])${QUOTED}`,
  ),
  expression(`\\b([A-Za-z_]\\w{0,80})\\s{0,3}\\{\\s{0,3}get;[^{}]{0,40}\\}\\s{0,3}=\\s{0,3}${QUOTED}`),
  expression(`\\bset\\(\\s{0,3}([A-Za-z_]\\w{0,80})\\s{1,3}${QUOTED}`, "gi"),
  expression(`\\b([A-Za-z_]\\w{0,80}):\\s{0,3}Some\\(\\s{0,3}${QUOTED}`),
  expression(
    `\\bvariable\\s{1,3}${QUOTE}([\\w-]{1,80})\\\\{0,7}"\\s{0,3}\\{[^{}]{0,300}?\\bdefault\\s{0,9}=\\s{0,3}${QUOTED}`,
  ),
  expression("`([\\w.-]{1,80})`\\s{0,3}[:=]\\s{0,3}`?([^\\s`]+)(?=`|\\s*$)", "gm"),
  expression(`^[ \\t]{0,40}([A-Za-z_]\\w{0,80})[ \\t]{1,3}${QUOTED}\\\\{0,7}["'][ \\t]*$`, "gm"),
  // What a command asks for: AWS Secret Access Key [None]: …
  expression(`\\b((?:[A-Za-z]{1,20} ){0,3}[A-Za-z]{1,20}) \\[[^\\]\\n]{0,40}\\]: ${VALUE}`),
];

/** What stands before a value of each of them. */
const BEHIND =
  /\b(?:ENV|ARG|SetEnv|setx|setenv|set)\b|\|\||\?\?|get;|Some\(|variable|`\s?[:=]|\]: |^[ \t]*\w*(?:pass|secret|key|token|cred|auth)\w*[ \t]+\\*["'`]/im;

/** Adds the secrets of commands and files. */
export function placedIn(text: string, kindOf: KindOf, found: Span[]): void {
  if (HINT.test(text))
    for (const place of PLACES) for (const match of text.matchAll(place)) add(match, match[1]!, found);
  if (!BEHIND.test(text)) return;
  for (const setting of SETTINGS)
    for (const match of text.matchAll(setting)) if (isNamed(match[1]!, match[2]!, kindOf)) add(match, match[2]!, found);
}

/** A name such as `token` says less where no command sets it. */
function isNamed(name: string, value: string, kindOf: KindOf): boolean {
  const kind = /^[a-z]{1,3}$/i.test(value) ? "plain" : kindOf(name);
  return kind === "secret" || (kind === "suspect" && /\d/.test(value));
}

function add(match: RegExpExecArray, secret: string, found: Span[]): void {
  if (!mayBeSecret(secret)) return;
  const from = match.index + match[0].lastIndexOf(secret);
  found.push({ from, to: from + secret.length });
}
