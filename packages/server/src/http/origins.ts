import { misuse } from "@parlance/wire";
import { originPattern } from "@parlance/wire/internal/http";
/** Origins of pages: texts in which `*` stands for characters other than a slash, expressions for whole origins, or a function. */
export type Origins = readonly (string | RegExp)[] | ((origin: string) => boolean);

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]+$/i;

/**
 * Makes the predicate of the option `origins`.
 *
 * @throws `TypeError` for a text that is no origin
 */
export function matcherOf(
  origins: Origins,
  report: (error: unknown, source: string) => void,
): (origin: string) => boolean {
  if (typeof origins === "function") return safely(origins, report);
  if (!Array.isArray(origins))
    throw misuse(`origins is a list or a function: write ["https://example.com"], not ${JSON.stringify(origins)}`);
  const exact = new Set<string>();
  const patterns: RegExp[] = [];
  for (const origin of origins) {
    if (origin instanceof RegExp) patterns.push(whole(origin.source, origin.flags.replace(/[gy]/g, "")));
    else if (typeof origin !== "string" || (origin !== "null" && !ORIGIN.test(origin)))
      throw misuse(
        `"${origin}" is not an origin: write it like "https://example.com", "https://*.example.com" or "vscode-webview://*", or give a function`,
      );
    else if (origin.includes("*")) patterns.push(originPattern(origin));
    else exact.add(origin);
  }
  return (origin) => exact.has(origin) || patterns.some((pattern) => pattern.test(origin));
}

/** Anchored, because an expression that matches somewhere in an origin also matches https://example.com.evil.org. */
function whole(source: string, flags: string): RegExp {
  return new RegExp(`^(?:${source})$`, flags);
}

/** A function that throws allows nothing. */
function safely(
  origins: (origin: string) => boolean,
  report: (error: unknown, source: string) => void,
): (origin: string) => boolean {
  return (origin) => {
    try {
      return origins(origin) === true;
    } catch (error) {
      report(error, "origins");
      return false;
    }
  };
}
