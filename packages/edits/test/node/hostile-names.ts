import type { NameReason } from "../../src/node/names.js";

/** A name, why it is refused by POSIX rules (null: it is not), and why by Windows'. */
export type HostileName = readonly [name: string, posix: NameReason | null, windows: NameReason];

const both = (reason: NameReason, names: readonly string[]): HostileName[] =>
  names.map((name) => [name, reason, reason]);
const windowsOnly = (reason: NameReason, names: readonly string[]): HostileName[] =>
  names.map((name) => [name, null, reason]);

/** One component as file, as directory, below a directory, and behind a leading `./`. */
const everywhere = (components: readonly string[]): string[] =>
  components.flatMap((part) => [part, `${part}/file`, `dir/${part}`, `dir/${part}/file`, `./${part}`]);

const devices = [
  "CON",
  "prn",
  "Aux",
  "NUL",
  "CONIN$",
  "conout$",
  "CLOCK$",
  "COM0",
  "com1",
  "COM9",
  "COM¹",
  "LPT0",
  "lpt1",
  "LPT9",
  "LPT³",
];

export const hostileNames: readonly HostileName[] = [
  ...both("empty", ["", "a//b", "a/", "dir/a/", "dir//", "a///b"]),
  ...both("absolute", ["/", "/etc/passwd", "/tmp/x", "/a/../b", "\\", "\\Windows\\win.ini", "\\a/b"]),
  ...both("unc", [
    "//server/share/x",
    "\\\\server\\share\\x",
    "\\\\?\\C:\\x",
    "\\\\.\\PhysicalDrive0",
    "//?/C:/x",
    "\\/server/x",
    "/\\server\\x",
    "//etc/passwd",
  ]),
  ...both("drive", ["C:", "C:\\", "C:/x", "c:x", "Z:\\x\\y", "C:..\\x", "c:/../x", "D:nul", "a:b", "x::$DATA"]),
  ...both(
    "parent",
    everywhere([".."]).filter((name) => name !== "./.."),
  ),
  ...both("parent", [
    "./..",
    "../../../../etc/passwd",
    "a/../../b",
    "a/b/../../../c",
    "dir/../a",
    "a/..",
    ".. ",
    ".. /x",
    "dir/.. /x",
    "..\\x",
    "dir\\..\\..\\x",
    "a/..\\..\\x",
    "a\\..",
    "...",
    "..../x",
    ".. ./x",
    "... ",
  ]),
  ...both("dot", [".", "././a", "a/.", "a/./b", "dir/./../a".slice(0, 7)]),
  ...both(
    "control",
    everywhere([
      "a\0",
      "\0",
      "a\0.txt",
      "a\nb",
      "a\rb",
      "a\tb",
      "\u001b[31m",
      "a\u007f",
      "a\u0085",
      "a\u009b",
      "a\u2028b",
      "a\u2029b",
      "\u0001",
    ]),
  ),
  ...both("encoding", everywhere(["\ud800", "a\udfff", "\udc00\ud800"])),
  ...both(
    "git",
    everywhere([
      ".git",
      ".GIT",
      ".Git",
      ".gIt",
      ".git.",
      ".git ",
      ".git...",
      ".git . .",
      ".git::$INDEX_ALLOCATION",
      ".git:x",
      ".GIT::$DATA",
    ]),
  ),
  ...both("git", everywhere(["git~1", "GIT~1", "Git~2", "git~1.", "git~10"])),
  ...both(
    "git",
    everywhere([
      ".g\u200cit",
      ".\u200dgit",
      ".gi\u200et",
      ".git\u200f",
      ".\u202agit",
      ".g\u202bit",
      ".gi\u202ct",
      ".git\u202d",
      "\u202e.git",
      ".g\u206ait",
      ".gi\u206ft",
      "\ufeff.git",
      ".GI\ufeffT",
    ]),
  ),
  ...both("git", [
    ".git\\config",
    "a\\.git\\config",
    ".git/hooks/pre-commit",
    "sub/.git/config",
    ".GIT/config",
    "dir\\.GIT",
    "a/b\\git~1\\c",
  ]),
  ...both(
    "reserved",
    everywhere([
      ".parlance-journal",
      ".PARLANCE-journal",
      ".parlance-0123456789ab-0.new",
      ".Parlance-x",
      ".parl\u200dance-journal",
    ]),
  ),
  ...both("too-long", everywhere(["a".repeat(256), "é".repeat(128)])),
  ...both("too-long", [`${"a/".repeat(2100)}b`]),
  ...windowsOnly("device", everywhere(devices)),
  ...windowsOnly(
    "device",
    everywhere(["nul.txt", "con.tar.gz", "aux .c", "COM1.x", "lpt9.", "nul "]).filter(
      (name) => !/[. ](?:\/|$)/.test(name),
    ),
  ),
  ...windowsOnly("trailing", everywhere(["a.", "a ", "a..", "a. ", "a .", " a", "nul ", "lpt9.", "a.txt."])),
  ...windowsOnly(
    "stream",
    everywhere(["file.txt:stream", "file.txt::$DATA", "ab:c", "file:", "dir:$I30:$INDEX_ALLOCATION"]),
  ),
  ...windowsOnly("separator", ["a\\b", "dir\\a", "dir/a\\b", "a\\", "a\\b\\c", "dir/\\a"]),
  ...windowsOnly("character", everywhere(["a<b", "a>b", 'a"b', "a|b", "a?", "*", "a*b"])),
];
