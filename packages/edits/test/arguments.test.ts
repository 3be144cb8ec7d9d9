import { expect, test } from "vitest";
import * as edits from "../src/index.js";

const patch = edits.createPatch("a\n", "b\n", { path: "x" });
const [file] = patch.files;
const text = "a\n";

/** Each public function that takes a text or a patch, with one of these for the argument that is named. */
const CALLS: Record<string, (wrong: never) => unknown> = {
  "createPatch before": (wrong) => edits.createPatch(wrong, text),
  "createPatch after": (wrong) => edits.createPatch(text, wrong),
  "applyPatch patch": (wrong) => edits.applyPatch(wrong, text),
  "applyPatch text": (wrong) => edits.applyPatch(patch, wrong),
  "applyPatch in a range text": (wrong) => edits.applyPatch(patch, wrong, { at: { line_start: 1 } }),
  "applyStrictly patch": (wrong) => edits.applyStrictly(wrong, text),
  "applyStrictly text": (wrong) => edits.applyStrictly(patch, wrong),
  "parsePatch text": (wrong) => edits.parsePatch(wrong),
  "parseEdits text": (wrong) => edits.parseEdits(wrong),
  "parseSearchReplace text": (wrong) => edits.parseSearchReplace(wrong),
  "parseBeginPatch text": (wrong) => edits.parseBeginPatch(wrong),
  "parseEditBlocks text": (wrong) => edits.parseEditBlocks(wrong),
  "parseWholeFiles text": (wrong) => edits.parseWholeFiles(wrong),
  "a reader's push text": (wrong) => edits.readEdits().push(wrong),
  "formatPatch patch": (wrong) => edits.formatPatch(wrong),
  "formatSearchReplace patch": (wrong) => edits.formatSearchReplace(wrong),
  "formatBeginPatch patch": (wrong) => edits.formatBeginPatch(wrong),
  "formatEditBlocks patch": (wrong) => edits.formatEditBlocks(wrong),
  "formatStrReplace patch": (wrong) => edits.formatStrReplace(wrong),
  "formatWholeFiles patch": (wrong) => edits.formatWholeFiles(wrong),
  "formatForBased patch": (wrong) => edits.formatForBased(wrong, text),
  "invertPatch patch": (wrong) => edits.invertPatch(wrong),
  "composePatches second": (wrong) => edits.composePatches(patch, wrong),
  "selectHunks patch": (wrong) => edits.selectHunks(wrong, []),
  "mapPosition file": (wrong) => edits.mapPosition(wrong, { line: 0, character: 0 }),
  "merge3 theirs": (wrong) => edits.merge3(text, "b", wrong),
  "mergePatches ours": (wrong) => edits.mergePatches(wrong, patch),
  "toTextEdits text": (wrong) => edits.toTextEdits(file!, wrong),
  "fromTextEdits text": (wrong) => edits.fromTextEdits([], wrong, { path: "x" }),
  "toWorkspaceEdit patch": (wrong) => edits.toWorkspaceEdit(wrong, () => ({ uri: "file:///x", version: 1, text })),
  "splitLines text": (wrong) => edits.splitLines(wrong),
};

test.each(Object.keys(CALLS))("%s that is none is a TypeError that names it", (call) => {
  const name = call.split(" ").at(-1)!;
  for (const wrong of [undefined, null, 5, {}])
    expect(() => CALLS[call]!(wrong as never)).toThrow(new RegExp(`^\`${name}\` must be a (?:string|patch), not `));
});
