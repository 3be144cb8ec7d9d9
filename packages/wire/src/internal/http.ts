import { escapeRegExp } from "./escape.js";

/** Parses a URL. Not by `URL.canParse`: once it is optimized, that of Node 20 is false for names that are not ASCII. */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** The same for an address that HTTP can reach. */
export function parseHttpUrl(text: string): URL | undefined {
  return /^https?:\/\//i.test(text) ? parseUrl(text) : undefined;
}

/** Whether a host's name is one of this machine's loopback interface, without a port. */
export function isLoopback(hostname: string): boolean {
  return /^(?:(?:[^.]+\.)*localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(hostname);
}

/** The media type of a Content-Type header, without its parameters. */
export function mediaType(header: string | null | undefined): string | undefined {
  return header?.split(";", 1)[0]?.trim().toLowerCase() || undefined;
}

/** Matches whole origins (RFC 6454) by one in which `*` stands for one or more characters but a slash. */
export function originPattern(origin: string): RegExp {
  return new RegExp(`^${origin.split("*").map(escapeRegExp).join("[^/]+")}$`, "i");
}
