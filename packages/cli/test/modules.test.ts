import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesIn, root } from "./house.js";

/** Packages whose README has a map of their modules. */
const mapped = ["conformance", "recordings"];

/** Entries, whose names are those of the package's exports. */
const ENTRY = /^(index|node|internal\/.*)\.ts$/;

/** The words of a README that are written as code, outside its programs. */
function wordsOf(readme: string): Set<string> {
  const prose = readme.replace(/^```.*?^```$/gms, "");
  return new Set([...prose.matchAll(/`([^`\n]+)`/g)].flatMap(([, code]) => code!.split(/[^\w./-]+/)));
}

describe.each(mapped)("the module map of %s", (name) => {
  const words = wordsOf(readFileSync(join(root, `packages/${name}/README.md`), "utf8"));
  const files = filesIn(`packages/${name}/src`).map((file) => file.replace(`packages/${name}/src/`, ""));

  it("names each folder and each module beside them", () => {
    const places = files.filter((file) => !ENTRY.test(file)).map((file) => file.replace(/\/.*/, "/"));
    expect([...new Set(places)].filter((place) => !words.has(place))).toEqual([]);
  });

  it("names no module that does not exist", () => {
    const known = new Set([...files, ...files.map((file) => basename(file))]);
    const named = [...words].filter((word) => /^[\w-]+\.ts$/.test(word) || /^[\w-]+\/$/.test(word));
    expect(named.filter((word) => !known.has(word) && !files.some((file) => file.startsWith(word)))).toEqual([]);
  });
});
