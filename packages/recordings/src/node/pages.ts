import type { IncomingHttpHeaders } from "node:http";
import { misuse } from "@parlance/wire";
import { isLoopback, originPattern } from "@parlance/wire/internal/http";
import type { HeaderList } from "../recording.js";

// Which requests a replay or a mock lets in: a page of any origin could read a recording, and write to this machine's memory.

/** Decides on requests, and gives pages of other origins what they need. */
export interface Guard {
  /** Why a request is not let in. */
  refusalOf(headers: IncomingHttpHeaders): string | undefined;
  /** The headers of an answer. Those of a recording that are about its own page go. */
  headersFor(asked: IncomingHttpHeaders, answered: HeaderList): HeaderList;
  /** The answer to a preflight (WHATWG Fetch, section 3.2.2). */
  preflight(method: string | undefined, asked: IncomingHttpHeaders): HeaderList | undefined;
}

/** An origin, or one with `*` in place of its host or its port. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(\*|[^/?#*]+(:\*)?)$/i;

/**
 * Whether a Host header names another machine than the loopback interface that a server listens on. A page that rebound its own DNS name to this
 * machine sends that name.
 */
export function isRebound(host: string, header: string): boolean {
  return isLoopback(host) && !isLoopback(header.replace(/:\d+$/, ""));
}

/** @throws `TypeError` for an origin that is none */
export function guard(host: string, origins: readonly string[]): Guard {
  const patterns = origins.map(patternOf);
  const isOther = ({ origin, host: named }: IncomingHttpHeaders): boolean =>
    origin !== undefined && origin !== `http://${named}` && origin !== `https://${named}`;
  function headersFor(asked: IncomingHttpHeaders, answered: HeaderList): HeaderList {
    if (!isOther(asked)) return answered;
    const others = answered.filter(([name]) => !/^access-control-/i.test(name));
    return [
      ...others,
      ["Access-Control-Allow-Origin", asked.origin!],
      ["Access-Control-Expose-Headers", "*"],
      ["Vary", "Origin"],
    ];
  }
  return {
    headersFor,
    refusalOf(headers) {
      const { origin, host: named = "" } = headers;
      if (isRebound(host, named)) return "this server answers to loopback names only";
      if (origin === undefined)
        return headers["sec-fetch-site"] === "cross-site" ? "requests from other sites are refused" : undefined;
      if (!isOther(headers) || patterns.some((pattern) => pattern.test(origin))) return undefined;
      return `pages of ${origin} may not call this server (option origins)`;
    },
    preflight(method, asked) {
      const wanted = asked["access-control-request-method"];
      if (method !== "OPTIONS" || wanted === undefined || !isOther(asked)) return undefined;
      const names = asked["access-control-request-headers"];
      return [
        ...headersFor(asked, []),
        ["Access-Control-Allow-Methods", wanted],
        ...(names === undefined ? [] : ([["Access-Control-Allow-Headers", names]] as const)),
        ["Access-Control-Max-Age", "600"],
      ];
    },
  };
}

function patternOf(origin: string): RegExp {
  if (!ORIGIN.test(origin) && origin !== "null")
    throw misuse(
      `"${origin}" is not an origin: write it like "http://localhost:5173", "http://localhost:*" or "vscode-webview://*"`,
    );
  return originPattern(origin);
}
