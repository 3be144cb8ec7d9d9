import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { testFences } from "../fences.js";
import { folder, parlance } from "../terminal.js";

const readme = new URL("../../README.md", import.meta.url);
const fences = [...readFileSync(readme, "utf8").matchAll(/^```sh\n(.*?)^```$/gms)].map((match) =>
  match[1]!.trim().split("\n"),
);

testFences(readme);

test("the commands of the README do what they say, one after the other, in a new repository", async () => {
  const cwd = await folder();
  const git = (...words: string[]) => execFileSync("git", words, { cwd, stdio: "pipe" });
  git("init", "-q", "-b", "main");
  expect(fences.length).toBeGreaterThan(1);
  for (const lines of fences) {
    for (const line of lines) {
      // The registry has no packages of this working tree.
      if (line.startsWith("npm install ")) continue;
      const words = /^npx @parlance\/cli ([^#]*)/.exec(line)?.[1]?.trim();
      expect(words, line).toBeDefined();
      expect(await parlance(cwd, words!), line).toMatchObject({ code: 0 });
    }
    git("add", ".");
    git("-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "--allow-empty", "-m", "Next.");
    // What a fetch would bring.
    git("branch", "-f", "origin/main");
  }
});
