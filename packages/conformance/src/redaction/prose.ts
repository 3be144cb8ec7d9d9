// Secrets in sentences: invalid password '…', Invalid API key provided: …, **Password:** `…`.

import { looksLikeNothingElse, mayBeSecret } from "./looks.js";
import type { Span } from "./span.js";

const NAME =
  "(?<strong>password|passwd|passphrase|passcode|passwort|kennwort|mot de passe|contraseña|senha|(?:api|access|secret|private|auth|bearer|refresh|session|client|security|signing)[ -](?:key|token|secret))|(?<weak>pwd?|secret|token|credentials?|bearer)";
/** What may stand between a name and its value. */
const BETWEEN =
  "(?:\\*\\*|__)?(?:\\s{0,3}(?:[:=(>*–—-]|\\|\\||\\?\\?|[=!]==?)+|\\s{1,3}(?:is|was|are|as|to|with|provided|given|used|entered|supplied|value|(?:for|of)(?:\\s[\\w.@-]{1,40}){1,2})\\b){0,4}(?:\\*\\*|__(?!redacted_))?\\s{0,3}";
const SENTENCE = new RegExp(
  `(?<![\\p{L}\\d])(?:${NAME})s?(?<between>${BETWEEN})(?!__redacted_)(?:N(?='))?(?:\\\\{0,7}(?<quote>["'\`])(?<quoted>[^\\s"'\`\\\\]{4,200})\\\\{0,7}\\k<quote>|(?=(?<bare>[^\\s"'\`,;&<>(){}[\\]\\\\]{12,200})))`,
  "giu",
);

/** A file, as in "Enter passphrase for key '/home/me/.ssh/id'". */
const PATH = /^(?:~|\.{0,2})\/[\w.-]+\//;

/** Adds the values that a sentence names. In joined texts a word without quotes may go on in another message that has nothing to do with it. */
export function toldIn(text: string, found: Span[], isWhole: boolean): void {
  for (const { index, 0: match, groups } of text.matchAll(SENTENCE)) {
    const { strong, between = "", quote, quoted, bare = "" } = groups!;
    // The name itself is in quotes, which end behind it.
    if (quote !== undefined && text[index - 1] === quote) continue;
    const value = quoted ?? bare.replace(/[.!?:]+$/, "");
    const isSecret =
      (quoted !== undefined && !PATH.test(quoted) && (strong !== undefined || /\|\||\?\?/.test(between))) ||
      (isWhole && between !== "" && looksLikeNothingElse(value));
    if (!isSecret || !mayBeSecret(value)) continue;
    const from = index + (quoted === undefined ? match.length : match.lastIndexOf(value));
    found.push({ from, to: from + value.length });
  }
}
