/** Dots on a line of their own, alone, in a comment, or with a few words: `...`, `// ... existing code ...`, `# ... rest of the class`. */
const DOTS =
  /^\s*(?:(\/\/|#|--|;|%|\/\*|\{\/\*|<!--)\s*)?(?:\[\.{3}\]|(?:\.{3,}|…)(?:( ?[\p{L}(][\p{L}\p{N} ,'’()/-]{0,60})(\.{3,}|…)?)?)(?:\s*(?:\*\/\}?|-->))?\s*$/u;

/** Whether a line may stand for omitted lines. Outside a comment, words need dots on both sides: `...rest` is code. */
export function areDots(line: string): boolean {
  // A quick check: few lines have dots.
  if (!line.includes("...") && !line.includes("…")) return false;
  const [found, comment, words, end] = DOTS.exec(line) ?? [];
  return found !== undefined && (comment !== undefined || words === undefined || end !== undefined);
}

/** Whether a line can only stand for omitted lines: dots alone are code in Python and punctuation in prose. */
export function areWordyDots(line: string): boolean {
  return areDots(line) && /\p{L}{3}/u.test(line);
}
