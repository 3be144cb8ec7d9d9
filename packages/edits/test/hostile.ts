import {
  applyPatch,
  parseBeginPatch,
  parseEditBlocks,
  parseEdits,
  parsePatch,
  parseSearchReplace,
  parseStrReplace,
  parseWholeFiles,
  readEdits,
} from "../src/index.js";

const NAMES = "--- a/x\n+++ b/x\n";
const UPDATE = "*** Begin Patch\n*** Update File: x\n";
const repeat = (piece: string, size: number) => piece.repeat(Math.ceil(size / piece.length));

/** Texts of about so many characters, each made to be slow to read. */
export const SHAPES: Record<string, (size: number) => string> = {
  "blanks behind a header of Begin Patch": (size) => `*** Begin Patch\n*** Update File:${repeat(" ", size)}\n`,
  "blanks behind the target of a move": (size) => `${UPDATE}*** Move to: y${repeat(" ", size)}x\n`,
  "blank lines in a hunk of Begin Patch": (size) => `${UPDATE}@@\n-a\n${repeat("\n", size)}+b\n*** End Patch\n`,
  "anchors one behind the other": (size) => `${UPDATE}${repeat("@@ class A\n", size)}-a\n+b\n*** End Patch\n`,
  "many hunks of Begin Patch": (size) => `${UPDATE}${repeat("@@\n-a\n+b\n", size)}*** End Patch\n`,
  "Begin Patch again and again": (size) => repeat("*** Begin Patch\n", size),
  "SEARCH again and again": (size) => repeat("x\n<<<<<<< SEARCH\n", size),
  "dividers in a SEARCH block": (size) => `x\n<<<<<<< SEARCH\n${repeat("=======\n", size)}>>>>>>> REPLACE\n`,
  "conflicts in a SEARCH block": (size) =>
    `x\n<<<<<<< SEARCH\n${repeat("<<<<<<< a\n=======\n>>>>>>> b\n", size)}=======\n>>>>>>> REPLACE\n`,
  "markers that are misspelt": (size) => repeat("<<<<<<< SEARCH:\n> > > >>>>>>> REPLACE:\n", size),
  "quotes of quotes": (size) => `${repeat("> ", size)}\n`,
  "marked lines behind the end of a fence": (size) =>
    `\`\`\`diff\n${NAMES}@@ -1 +1 @@\n-a\n+b\n\`\`\`\n${repeat(" a\n```\n", size)}`,
  "fields of calls": (size) => repeat('"old_str" : {\n', size),
  "a comment of such words": (size) =>
    `x\n<<<<<<< SEARCH\n-a\n=======\n// ${repeat("the rest ", size)}\n>>>>>>> REPLACE\n`,
  "line hints in a SEARCH block": (size) =>
    `x\n<<<<<<< SEARCH\n${repeat(":start_line:1\n", size)}=======\n>>>>>>> REPLACE\n`,
  "a gutter in a SEARCH block": (size) =>
    `x\n<<<<<<< SEARCH\n${Array.from({ length: size / 10 }, (_, i) => `${i} | x\n`).join("")}=======\n>>>>>>> REPLACE\n`,
  "backslashes before a marker": (size) =>
    `x\n<<<<<<< SEARCH\n${repeat("\\", size)}=======x\n=======\n>>>>>>> REPLACE\n`,
  "keys of an edit block": (size) => `\`\`\`edit\n${repeat("file: a\nreason: b\n", size)}\`\`\`\n`,
  "quotes in a key of an edit block": (size) =>
    `\`\`\`edit\nfile: "${repeat('\\"', size)}\nreason: '${repeat("''", size)}\n\`\`\`\n`,
  "fences that open and close": (size) => repeat("```\n", size),
  "one line of backticks": (size) => repeat("`", size),
  "one line of blanks": (size) => repeat(" ", size),
  "one line of slashes": (size) => `${repeat("/", size)}\n`,
  "lines of prose with brackets": (size) => repeat("a (b) c: d. (e)\n", size),
  "paths above nothing": (size) => repeat("src/my a.ts (new)\n", size),
  "tags that open": (size) => repeat("<source>\n", size),
  "JSON in a fence, deeply nested": (size) => `\`\`\`json\n${repeat("[", size)}\n\`\`\`\n`,
  "headers of files without hunks": (size) => repeat(`diff --git a/x b/x\n${NAMES}`, size),
  "hunks whose counts are too large": (size) => `${NAMES}${repeat("@@ -1,900000 +1,900000 @@\n-a\n+b\n", size)}`,
  "hunks whose counts are too small": (size) => `${NAMES}${repeat("@@ -1 +1 @@\n-a\n+b\n c\n", size)}`,
  "blank lines behind each hunk": (size) => `${NAMES}${repeat("@@ -1 +1 @@\n-a\n+b\n\n\n\n\n", size)}`,
  "lines without a mark behind a hunk": (size) => `${NAMES}@@ -1 +1 @@\n-a\n+b\n${repeat("x\n", size)}`,
  "an empty line behind every line": (size) => `${NAMES}@@ -1,${size / 4} +1,${size / 4} @@\n${repeat(" a\n\n", size)}`,
  "fences in a hunk in a fence": (size) =>
    `\`\`\`diff\n${NAMES}${repeat("@@ -1,99 +1,99 @@\n-a\n```\n+b\n", size)}\`\`\`\n`,
  "names glued together": (size) => `${repeat("--- a +++ ", size)}\n`,
  "a name of quotes and escapes": (size) => `--- "a/${repeat("\\303\\251", size)}\n+++ "b/x"\n@@ -1 +1 @@\n-a\n+b\n`,
  "a name of tabs": (size) => `--- a/x${repeat("\t", size)}x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n`,
  "notes about the last newline": (size) =>
    `${NAMES}@@ -1 +1 @@\n-a\n+b\n${repeat("\\ No newline at end of file\n", size)}`,
  "lone carriage returns": (size) => repeat("--- a/x\r+++ b/x\r@@ -1 +1 @@\r-a\r+b\r", size),
};

export const READERS: Record<string, (text: string) => unknown> = {
  parsePatch: (text) => parsePatch(text, { path: "x" }),
  "parsePatch, strict": (text) => parsePatch(text, { strict: true }),
  parseEdits: (text) => parseEdits(text, { wholeFiles: true }),
  parseBeginPatch: (text) => parseBeginPatch(text),
  parseSearchReplace: (text) => parseSearchReplace(text),
  parseEditBlocks: (text) => parseEditBlocks(text),
  parseStrReplace: (text) => parseStrReplace({ path: "x", old_str: text, new_str: `${text}\nx` }, { text }),
  parseWholeFiles: (text) => parseWholeFiles(text),
  "readEdits in small pieces": (text) => {
    const reader = readEdits();
    for (let at = 0; at < text.length; at += 64) reader.push(text.slice(at, at + 64));
    return reader.end();
  },
  "applyPatch of what is read": (text) => {
    const reading = parsePatch(text, { path: "x" });
    return reading.ok && reading.patch.files.slice(0, 1).map((file) => applyPatch(file, text));
  },
};
