/** Control characters, those that turn the direction of text, and those that end a line or have no width. */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** Another's text in one line: characters that could control a terminal, forge a line or mislead a reader are written as JSON escapes. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The same for a text of several lines: line feeds and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(/[^\n\t]+/g, visible);
}
