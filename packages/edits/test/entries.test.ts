import * as whole from "@parlance/edits";
import * as based from "@parlance/edits/formats/based";
import * as beginPatch from "@parlance/edits/formats/begin-patch";
import * as editBlock from "@parlance/edits/formats/edit-block";
import * as searchReplace from "@parlance/edits/formats/search-replace";
import * as strReplace from "@parlance/edits/formats/str-replace";
import * as wholeFile from "@parlance/edits/formats/whole-file";
import * as loose from "@parlance/edits/loose";
import * as lsp from "@parlance/edits/lsp";
import * as merge from "@parlance/edits/merge";
import * as stream from "@parlance/edits/stream";
import * as unified from "@parlance/edits/unified";
import { expect, test } from "vitest";

const entries = {
  unified,
  loose,
  lsp,
  merge,
  stream,
  based,
  beginPatch,
  editBlock,
  searchReplace,
  strReplace,
  wholeFile,
};
const known: Readonly<Record<string, unknown>> = whole;

test.each(Object.entries(entries))("what %s and the whole both export is the same", (_name, entry) => {
  // Those of `./unified` do less unless they are passed the looser values.
  const own: readonly unknown[] = [unified.applyPatch, unified.parsePatch];
  const shared = Object.entries(entry).filter(([name, value]) => name in known && !own.includes(value));
  expect(shared.length).toBeGreaterThan(0);
  for (const [name, value] of shared) expect([name, value === known[name]]).toEqual([name, true]);
});

const answer = [
  "a.ts\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n",
  "*** Begin Patch\n*** Update File: b.ts\n@@\n-two\n+2\n*** End Patch\n",
].join("\n");

test("a stream reads the formats that it is given, and leaves the others as text", () => {
  const namesOf = (formats: readonly stream.Format[]) => {
    const reader = stream.scanEdits(formats);
    const events = [...reader.push(answer), ...reader.end()];
    return events.flatMap((event) => (event.type === "start" ? [event.format] : []));
  };
  expect(namesOf([searchReplace.searchReplace])).toEqual(["search-replace"]);
  expect(namesOf([beginPatch.beginPatch])).toEqual(["begin-patch"]);
  expect(namesOf([beginPatch.beginPatch, searchReplace.searchReplace])).toEqual(["search-replace", "begin-patch"]);
  expect(namesOf([editBlock.editBlocks, wholeFile.wholeFiles])).toEqual([]);
  expect(stream.parseWith([searchReplace.searchReplace], answer, {})).toMatchObject({
    ok: true,
    patch: { files: [{ before: "a.ts" }] },
  });
});
