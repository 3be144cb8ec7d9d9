/** Control characters, those that turn the direction of text, and those that end a line or have no width. */
const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** Replaces each character that could control a terminal, forge a line or mislead a reader. */
export function replaceHidden(text: string, replace: (character: string) => string): string {
  return text.replace(HIDDEN, replace);
}

/** Another's text on one line, with JSON escapes for hidden characters: JSON keeps its value. */
export function visible(text: string): string {
  return replaceHidden(text, escapeJson);
}

/** The same for a text of several lines: line feeds and tabs stay. */
export function visibleLines(text: string): string {
  return text.replace(/[^\n\t]+/g, visible);
}

/** The JSON escape of a character. */
export function escapeJson(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The source of a regular expression that matches a text. */
export function escapeRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
