import { misuse } from "@parlance/wire";

/** Whether a recorded target is a path with its query: one `/` first. Anything else could name another host. */
export function isPath(target: string): boolean {
  return /^\/(?![/\\])[^\s\p{Cc}#]*$/u.test(target);
}

/** The parts of a target; undefined if it is no path. */
export function partsOf(target: string): URL | undefined {
  if (!isPath(target)) return undefined;
  try {
    return new URL(`http://recording${target}`);
  } catch {
    return undefined;
  }
}

/** The URL of a path on a server. Throws `TypeError` for a target that is no path, so a recording cannot choose the host. */
export function urlAt(server: string, target: string): URL {
  const base = new URL(server);
  if (!isPath(target)) throw misuse(notPath(target));
  const url = new URL(base.origin + base.pathname.replace(/\/+$/, "") + target);
  if (url.origin !== base.origin) throw misuse(notPath(target));
  return url;
}

/** The sentence about a target that is no path. */
export function notPath(target: string): string {
  return `the target ${JSON.stringify(target.slice(0, 100))} is not a path that begins with one /`;
}
