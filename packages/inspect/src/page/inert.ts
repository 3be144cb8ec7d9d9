import { replaceHidden } from "@parlance/wire/internal/escape";

/**
 * A text of a peer as it is shown: control characters (ANSI sequences among them), characters that turn the direction of text, and
 * those without width are replaced by their numbers. Line feeds and tabs stay.
 */
export function visible(text: string): string {
  return replaceHidden(text, (character) =>
    /[\t\n]/.test(character) ? character : `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`,
  );
}

/** The same in one line. */
export function visibleLine(text: string): string {
  return visible(text).replaceAll("\n", "↵").replaceAll("\t", "⇥");
}
