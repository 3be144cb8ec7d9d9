import {
  createPatch,
  type FilePatch,
  formatBeginPatch,
  formatEditBlocks,
  formatSearchReplace,
  formatStrReplace,
  formatWholeFiles,
  type Hunk,
  type Patch,
} from "@parlance/edits";
import { expect, test } from "vitest";

const WRITERS = {
  "search-replace": formatSearchReplace,
  "str-replace": formatStrReplace,
  "begin-patch": formatBeginPatch,
  "edit-block": formatEditBlocks,
  "whole-file": formatWholeFiles,
};
type Writer = keyof typeof WRITERS;

const change = createPatch("a\nb\n", "a\nc\n", { path: "f" });
const [file] = change.files as [FilePatch];
const withHunk = (more: Partial<Hunk>): Patch => ({ files: [{ ...file, hunks: [{ ...file.hunks[0]!, ...more }] }] });
const created = (text: string) => createPatch("", text, { oldPath: null, newPath: "f" });
const removed = createPatch("a\n", "", { oldPath: "f", newPath: null });
const moved = (kind: "rename" | "copy"): Patch => ({ files: [{ kind, before: "e", after: "f", hunks: [] }] });

const END = "a last line without a newline";
const PART = "less than a whole file";
const EDGE = "where the text ends without a newline";

/** What each format has no word for; a format that is not named writes the patch. */
const PATCHES: readonly [what: string, patch: Patch, refused: Partial<Record<Writer, string>>][] = [
  ["a change", change, { "whole-file": PART }],
  ["a new file", created("a\n"), {}],
  [
    "a new file that is empty",
    { files: [{ ...file, kind: "create", before: null, hunks: [] }] },
    { "search-replace": "an empty file" },
  ],
  [
    "a new file without a newline at its end",
    created("a"),
    { "search-replace": END, "begin-patch": END, "whole-file": END },
  ],
  [
    "a whole file",
    { files: [{ ...file, whole: true, hunks: created("a\n").files[0]!.hunks }] },
    Object.fromEntries(
      ["search-replace", "str-replace", "begin-patch", "edit-block"].map((name) => [name, "replacing a whole file"]),
    ),
  ],
  ["a deletion", removed, { "search-replace": "a delete", "str-replace": "a delete", "whole-file": PART }],
  [
    "a deletion without the text",
    { files: [{ ...file, kind: "delete", after: null, hunks: [] }] },
    { "search-replace": "a delete", "str-replace": "a delete", "whole-file": PART },
  ],
  [
    "a rename",
    moved("rename"),
    { "search-replace": "a rename", "str-replace": "a rename", "edit-block": "a rename", "whole-file": PART },
  ],
  [
    "a copy",
    moved("copy"),
    Object.fromEntries(Object.keys(WRITERS).map((name) => [name, name === "whole-file" ? PART : "a copy"])),
  ],
  [
    "an insertion by number",
    withHunk({ oldStart: 1, newStart: 2, lines: ["+c"] }),
    {
      "search-replace": "an insertion without context",
      "begin-patch": "an insertion without context",
      "whole-file": PART,
    },
  ],
  [
    "an insertion without a place",
    withHunk({ oldStart: null, newStart: null, lines: ["+c"] }),
    {
      "search-replace": "an insertion without context",
      "begin-patch": "an insertion without context",
      "str-replace": "an insertion without a place",
      "whole-file": PART,
    },
  ],
  [
    "a newline that is added at the end",
    withHunk({ oldNoNewline: true }),
    { "search-replace": END, "str-replace": END, "begin-patch": END, "whole-file": PART },
  ],
  [
    "a newline that is missing before and after",
    withHunk({ oldNoNewline: true, newNoNewline: true }),
    { "whole-file": PART },
  ],
  [
    "a last line that is deleted from a text without a newline",
    withHunk({ oldNoNewline: true, newNoNewline: true, lines: [" a", "-b"] }),
    { "search-replace": END, "str-replace": END, "begin-patch": END, "whole-file": PART, "edit-block": EDGE },
  ],
  [
    "a line that is added behind one without a newline, and has one",
    withHunk({ oldNoNewline: true, lines: ["+b"] }),
    {
      "search-replace": END,
      "str-replace": END,
      "begin-patch": END,
      "whole-file": PART,
      "edit-block": EDGE,
    },
  ],
];

test.each(
  PATCHES.flatMap(([what, patch, refused]) =>
    (Object.keys(WRITERS) as Writer[]).map((name) => [what, name, patch, refused[name]] as const),
  ),
)("%s, as %s, is written, or the format names what it has no word for", (_, name, patch, refused) => {
  const writing = WRITERS[name](patch);
  if (refused === undefined) expect(writing).toMatchObject({ ok: true });
  else expect(writing).toEqual({ ok: false, message: `This format has no word for ${refused} (f).` });
});
