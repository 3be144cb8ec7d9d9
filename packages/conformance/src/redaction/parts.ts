// What redaction reads a text as.

import type { Span } from "./span.js";

/** The object or list that a text is as JSON; undefined for any other text. */
export function jsonIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    // A byte order mark is no space of JSON.
    return JSON.parse(text.trimStart());
  } catch {
    return undefined;
  }
}

/** The parts before and after the first separator. */
export function split(text: string, by: string): [string, string | undefined] {
  const at = text.indexOf(by);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + by.length)];
}

/** A part of a query or a form as text. */
export const decodeForm = (text: string) => decodeUrl(text.replaceAll("+", " "));

/** A text whose characters may be escaped as in a URL. What is no UTF-8 in it does not hide the rest. */
export function decodeUrl(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const bytes = run
      .slice(1)
      .split("%")
      .map((two) => Number.parseInt(two, 16));
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
  });
}

/** A text as a part of a URL. */
export const encodeUrl = (text: string) => encodeURIComponent(text.replace(/\p{Surrogate}/gu, ""));

/** The words of a text that have escapes of a URL, with the names and values of a query. */
export function escapedIn(text: string): Span[] {
  const found: Span[] = [];
  for (let at = text.indexOf("%"); at >= 0; at = text.indexOf("%", at)) {
    if (!/^[0-9a-f]{2}/i.test(text.slice(at + 1, at + 3))) {
      at++;
      continue;
    }
    let [from, to] = [at, at];
    const least = found.at(-1)?.to ?? 0;
    while (from > least && !SPACE.has(text[from - 1]!)) from--;
    while (to < text.length && !SPACE.has(text[to]!)) to++;
    found.push({ from, to });
    at = to;
  }
  return found;
}

const SPACE = new Set(" \t\r\n\"'`<>\\");

/** What the escapes of JSON stand for in a text; the text where it has none, or others. */
export function unescapeJson(text: string): string {
  let plain = text;
  for (let times = 0; times < 3 && plain.includes("\\"); times++) {
    try {
      plain = JSON.parse(`"${plain}"`);
    } catch {
      break;
    }
  }
  return plain;
}

/** A text of JSON without the escapes that it does not need: some programs write every `/` and all beyond ASCII with one. */
export function withoutNeedlessEscapes(text: string): string {
  return text.replace(/\\(?:u([0-9a-f]{4})|\/)/gi, (_, unit?: string) => {
    const plain = unit === undefined ? "/" : String.fromCharCode(Number.parseInt(unit, 16));
    return JSON.stringify(plain).slice(1, -1);
  });
}

/** A form in parts (multipart/form-data, RFC 7578), whose first line separates them, with each value as `change` gives it. */
export function partsOf(text: string, change: (value: string, name: string) => string): string {
  const [boundary = ""] = /^--[^\r\n]{1,200}/.exec(text) ?? [];
  return text
    .split(boundary)
    .map((part) => {
      const blank = /\r?\n\r?\n/.exec(part);
      const disposition = blank && /content-disposition:[^\r\n]*/i.exec(part.slice(0, blank.index))?.[0];
      const written = disposition && /\bname(?:\*=[\w-]*'[\w-]*'|="?)([^"\r\n;]{1,200})/i.exec(disposition)?.[1];
      const name = written && decodeUrl(written);
      if (!blank || !name) return part;
      const from = blank.index + blank[0].length;
      const value = part.slice(from).replace(/\r?\n$/, "");
      return value === "" ? part : part.slice(0, from) + change(value, name) + part.slice(from + value.length);
    })
    .join(boundary);
}
