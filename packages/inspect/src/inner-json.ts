/** JSON that a string of a message contains, such as a tool's input. */
export interface InnerJson {
  readonly value: object;
  /** The string ends before its JSON does, as the input of a tool does while a model writes it. */
  readonly isCut: boolean;
}

/** The longest string that is read as JSON, in characters. */
const MAX_INNER = 1024 * 1024;

/** Reads an object or a list from a string; of one that is cut, the complete part. Undefined for any other text. */
export function readInnerJson(text: string): InnerJson | undefined {
  if (text.length > MAX_INNER || !/^\s*[{[]/.test(text)) return undefined;
  const whole = parseObject(text);
  if (whole) return { value: whole, isCut: false };
  for (const part of completed(text)) {
    const value = parseObject(part);
    if (value) return Object.keys(value).length > 0 ? { value, isCut: true } : undefined;
  }
  return undefined;
}

function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    // Readers differ in which of two equal names counts, so a person has to see both.
    return namesIn(value) === text.replace(/"(?:[^"\\]|\\.)*"/g, "").split(":").length - 1 ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The number of names in all objects of a value. */
function namesIn(value: object): number {
  let names = 0;
  const left: object[] = [value];
  for (let next = left.pop(); next; next = left.pop()) {
    if (!Array.isArray(next)) names += Object.keys(next).length;
    for (const one of Object.values(next)) if (typeof one === "object" && one !== null) left.push(one);
  }
  return names;
}

/** A text that is cut within JSON with its strings and brackets closed: with its last value, and without it. Empty for one that is not cut. */
function completed(text: string): string[] {
  const closers: string[] = [];
  let isString = false;
  let escapedAt = -1;
  /** After the last bracket or before the last comma, where the text can end, and the brackets that have been closed since. */
  let boundary = 0;
  let closed: string[] = [];
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!;
    if (isString) {
      if (character === "\\") escapedAt = at++;
      else if (character === '"') isString = false;
      continue;
    }
    if (character === '"') isString = true;
    if (character === "}" || character === "]") {
      if (closers.pop() !== character || closers.length === 0) return [];
      closed.push(character);
    }
    if (character === "{") closers.push("}");
    if (character === "[") closers.push("]");
    if (!/[{[,]/.test(character)) continue;
    boundary = character === "," ? at : at + 1;
    closed = [];
  }
  // An escape may be cut too: `\` or `\u00`.
  const isCutEscape = isString && escapedAt >= 0 && /^\\(u[\da-f]{0,3})?$/i.test(text.slice(escapedAt));
  const last = (isCutEscape ? text.slice(0, escapedAt) : text) + (isString ? '"' : "");
  const end = closers.reverse().join("");
  const before = text.slice(0, boundary) + closed.join("") + end;
  // The rest of a number may change it, unlike that of a string.
  return !isString && /\d$/.test(text) ? [before] : [last + end, before];
}
