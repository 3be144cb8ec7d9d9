/**
 * A text of a peer as it is shown: control characters (ANSI sequences among them), characters that turn the direction of text, and
 * those without width are replaced by their numbers. Line feeds and tabs stay.
 */
export function visible(text: string): string {
  return text.replace(
    UNSEEN,
    (character) => `⟨U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

/** Control and format characters but the tab and the line feed, which have their use in a text. */
const UNSEEN = /(?![\t\n])[\p{Cc}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/gu;

/** The same in one line. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll("\n", "↵").replaceAll("\t", "⇥");
}
