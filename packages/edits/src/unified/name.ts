import { unquoteName } from "./quote.js";

export interface NameLine {
  /** As written, prefix and all; null is `/dev/null`, undefined a quoted name that cannot be read. */
  readonly name: string | null | undefined;
  readonly stamp?: string;
}

/** Where the tab or the blank stands that ends an unquoted name with a stamp behind it; negative where there is none. */
export type TabOf = (text: string) => number;

/** For git every tab ends a name. */
const firstTab: TabOf = (text) => text.indexOf("\t");

/**
 * Reads what stands behind `--- ` or `+++ `: a name, quoted or not, and perhaps a tab and a time stamp. GNU diff writes the epoch as
 * the time stamp of a file that is not there.
 */
export function parseNameLine(text: string, tabOf = firstTab): NameLine {
  const quoted = unquoteName(text);
  if (quoted === null && text[0] === '"') return { name: undefined };
  const tab = quoted === null ? tabOf(text) : text.indexOf("\t", quoted.length);
  const end = tab < 0 ? text.length : tab;
  const name = quoted?.name ?? text.slice(0, end);
  const stamp = text.slice(end + 1) || undefined;
  return { name: name === "/dev/null" || (stamp !== undefined && isEpoch(stamp)) ? null : name, stamp };
}

/**
 * Reads what stands behind `diff --git `. Unquoted names may contain blanks: then only the split that gives the same name
 * on both sides is certain, and null says that there is none (a rename, which has its names below).
 */
export function parseGitNames(text: string): { before: string; after: string } | null {
  const first = unquoteName(text);
  const cut = first?.length ?? findCut(text);
  const before = first?.name ?? text.slice(0, cut);
  const rest = text.slice(cut + 1);
  const after = unquoteName(rest)?.name ?? rest;
  const broken = (first === null && before[0] === '"') || (after === rest && rest[0] === '"');
  return cut < 0 || broken ? null : { before, after };
}

/** The blank between two names of which the first is not quoted. */
function findCut(text: string): number {
  const quote = text.indexOf(' "');
  if (quote >= 0 && unquoteName(text.slice(quote + 1)) !== null) return quote;
  const blank = text.indexOf(" ");
  if (text.indexOf(" ", blank + 1) < 0) return blank;
  const middle = (text.length - 1) / 2;
  const same = dropFolder(text.slice(0, middle)) === dropFolder(text.slice(middle + 1));
  return text[middle] === " " && same ? middle : -1;
}

/** Whether it is the first moment of 1970, in whatever zone it is written; without one it is taken for UTC. */
function isEpoch(stamp: string): boolean {
  if (stamp.length > 80 || !/19(?:70|69)/.test(stamp)) return false;
  const [, date, time, hours = "+00", minutes = "00"] =
    /^(\S{10})[T ](\d\d:\d\d:\d\d)(?:\.0+)?(?: ?([-+]\d\d):?(\d\d)|Z| UTC| GMT)?$/.exec(stamp) ?? [];
  const said = date === undefined && !/[-+]\d{4}$/.test(stamp) ? `${stamp} +0000` : stamp;
  return Date.parse(date === undefined ? said : `${date}T${time}${hours}:${minutes}`) === 0;
}

export function dropFolder(name: string): string {
  return name.slice(name.indexOf("/") + 1);
}

/** The name without so many leading folders, several slashes in it as one; empty where it does not have so many, unless `few` is allowed. */
export function dropFolders(name: string, count: number, few = false): string {
  let rest = name;
  for (let i = 0; i < count; i++) {
    if (rest.includes("/")) rest = dropFolder(rest);
    else if (!few) return "";
  }
  return rest.replace(/\/{2,}/g, "/");
}
