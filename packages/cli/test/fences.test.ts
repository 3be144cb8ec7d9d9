import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { compile, writeFences } from "./fences.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));

test("the programs in all documents compile under the repository's settings", () => {
  const documents = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" }).trim().split("\n");
  const files = documents.flatMap((path) => writeFences("compiled", join(root, path))).map(({ file }) => file);
  expect(files.length).toBeGreaterThan(10);
  expect(compile(files)).toEqual([]);
}, 60_000);
