/** Bytes that a value of JSON takes at least, beside its text: an array or object, and its place in another one. */
const VALUE = 24;

/**
 * Estimates the memory of a parsed JSON text, in bytes. Small values take twenty times as much as their text: a megabyte of `[{},{},…]`
 * would take twenty.
 */
export function weigh(text: string): number {
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // [ and {, each value after a comma.
    if (code === 44 || code === 91 || code === 123) values++;
  }
  return text.length + VALUE * values;
}

/** Weighs a frame that waits to be read: its characters, unless it takes more than four times as many bytes. */
export function weighFrame(text: string): number {
  return Math.max(text.length, weigh(text) / 4);
}
