/**
 * Which paths an edit may name. Pure, so both systems' rules can be tested on either. A path is refused for its meaning
 * on any system, not only on this one, because patches travel.
 *
 * - `windows` (the default of `planEdits` everywhere): a name that every system stores as it is written.
 * - `posix`: also device names, trailing dots, colons and backslashes, which are special only on Windows.
 */
export type NameRules = "posix" | "windows";

const EXPLAIN = {
  empty: "is empty or has an empty component",
  absolute: "is absolute; write it relative to the root",
  drive: "begins with a drive; write it relative to the root",
  unc: "is a network or device path; write it relative to the root",
  parent: "goes up with `..`; write it relative to the root",
  dot: "has a `.` component",
  control: "has a control character",
  encoding: "is not well-formed Unicode",
  separator: "has a backslash; separate components with `/`",
  stream: "names an alternate stream (`:`)",
  device: "names a Windows device",
  character: "has a character that Windows does not store in a name",
  trailing: "has a component that ends in a dot or a space, or begins with a space",
  git: "is inside git's own directory",
  reserved: "uses a name that applying edits keeps for itself",
  "too-long": "is longer than 4,096 bytes or has a component longer than 255",
};

export type NameReason = keyof typeof EXPLAIN;

export type NameCheck =
  | { readonly ok: true; readonly parts: readonly string[] }
  | { readonly ok: false; readonly reason: NameReason; readonly message: string };

/** Prefix of the journal, temporary files and backups; no edit may use it. */
export const RESERVED = ".parlance-";

// Superscript digits count as digits here: Windows reads COM¹ as COM1.
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|clock\$|(?:com|lpt)[0-9¹²³])$/i;
// C0, DEL and C1 controls, and the line separators that would split a path in a log or a patch.
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
// The code points that HFS+ ignores when it compares names, as git's is_hfs_dotgit lists them.
const IGNORABLE = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/** The rules in force on this system: Windows' own cannot be turned off there. @default "windows" */
export function rulesHere(rules: NameRules = "windows"): NameRules {
  return process.platform === "win32" ? "windows" : rules;
}

/** An absolute path below one of the roots, relative to it; any other as it is. On Windows either separator and any case fit. */
export function stripRoot(path: string, roots: readonly string[], windows = process.platform === "win32"): string {
  const plain = (name: string) => (windows ? name.replaceAll("\\", "/") : name);
  const folded = (name: string) => (windows ? plain(name).toLowerCase() : name);
  for (const root of roots) {
    const name = plain(root);
    let end = name.length;
    while (name[end - 1] === "/") end--;
    const prefix = `${name.slice(0, end)}/`;
    if (folded(path.slice(0, prefix.length)) === folded(prefix)) return plain(path.slice(prefix.length));
  }
  return path;
}

/** Splits a path into components, or explains why no edit may name it. Drops a leading `./`. Never throws. */
export function checkName(path: string, rules: NameRules): NameCheck {
  const refuse = (reason: NameReason): NameCheck => ({
    ok: false,
    reason,
    message: `The path ${quote(path)} ${EXPLAIN[reason]}.`,
  });
  if (path === "") return refuse("empty");
  if (/\p{Surrogate}/u.test(path)) return refuse("encoding");
  if (CONTROL.test(path)) return refuse("control");
  if (/^[\\/]{2}/.test(path)) return refuse("unc");
  if (/^[\\/]/.test(path)) return refuse("absolute");
  if (/^[a-z]:/i.test(path)) return refuse("drive");
  if (utf8Length(path) > 4096) return refuse("too-long");
  const parts = path.replace(/^\.\//, "").split("/");
  for (const part of parts) {
    const reason = checkComponent(part, rules);
    if (reason) return refuse(reason);
  }
  return { ok: true, parts };
}

function checkComponent(part: string, rules: NameRules): NameReason | undefined {
  if (part === "") return "empty";
  // Some Windows interfaces take `.. ` and `...` for the parent; all of them take `..\x` so.
  if (/^\.\.(?:[ .\\]|$)/.test(part) || /[\\]\.\.(?:\\|$)/.test(part)) return "parent";
  if (part === ".") return "dot";
  if (part.split("\\").some(isGit)) return "git";
  if (foldName(part).startsWith(RESERVED)) return "reserved";
  if (utf8Length(part) > 255) return "too-long";
  if (rules === "posix") return undefined;
  if (part.includes("\\")) return "separator";
  if (part.includes(":")) return "stream";
  if (/[<>"|?*]/.test(part)) return "character";
  // Windows strips these, and would then open another file than the checked one.
  if (/[. ]$|^ /.test(part)) return "trailing";
  // A device stays a device with any extension: `NUL.txt`, `con .tar.gz`.
  if (DEVICE.test(part.split(".")[0]!.trimEnd())) return "device";
  return undefined;
}

function isGit(part: string): boolean {
  const plain = part.replace(IGNORABLE, "").replace(/:.*$/s, "");
  return /^(?:\.git|git~[0-9]+)[. ]*$/i.test(plain);
}

/** Folds a name so that names of one file on some file system (NTFS, APFS, HFS+, a case-folding ext4) are equal. */
export function foldName(name: string): string {
  return name.replace(IGNORABLE, "").normalize("NFD").toUpperCase().toLowerCase().normalize("NFC");
}

function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** A path made safe for a message: nothing in it can move a cursor or hide a part of it. */
export function quote(path: string): string {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  const byNumber = (c: string) => `\\u{${c.codePointAt(0)!.toString(16)}}`;
  return `"${shown.replace(/[\p{C}\u2028\u2029]/gu, byNumber)}"`;
}

/** The message about two names that some file systems do not tell apart. */
export function sameOnSome(name: string, other: string): string {
  return `${quote(name)} and ${quote(other)} differ only in case or composition; on some systems they are one.`;
}
