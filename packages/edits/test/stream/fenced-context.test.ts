import { parseEdits, parsePatch } from "@parlance/edits";
import { expect, test } from "vitest";

/** Hunks of a Markdown file; marked lines are changed, the others context. */
const HUNKS = [
  ["code()", "```", "", "-## License", "+## Licence", "MIT"],
  ["```js", "code()", "```", "-x", "+y", "z"],
  ["a", "```", "-x", "b", "```", "+y"],
  ["-x", "+y", "a", "```", "-p", "+q", "b"],
];
const AROUND: Readonly<Record<string, (diff: string) => string>> = {
  nothing: (diff) => diff,
  prose: (diff) => `Here is:\n\n${diff}\nDone.\n`,
  "a fence": (diff) => `\`\`\`diff\n${diff}\`\`\`\n`,
  "a longer fence and prose": (diff) => `Text.\n\n\`\`\`\`diff\n${diff}\`\`\`\`\n\nDone.\n`,
};
const NAMES = "--- a/README.md\n+++ b/README.md\n";
const isChanged = (line: string) => /^[-+]/.test(line);
const isFence = (line: string | undefined) => /^```/.test(line ?? "");

/** The hunk with its context marked, but for the lines of `lost`: each is a bit. */
function textOf(header: string, hunk: readonly string[], lost: number): string {
  const count = (mark: string) => hunk.filter((line) => !isChanged(line) || line[0] === mark).length;
  const lines = hunk.map((line, i) => (isChanged(line) || lost & (1 << i) ? line : ` ${line}`));
  return `${header.replace("counts", `-9,${count("-")} +9,${count("+")}`)}\n${lines.join("\n")}\n`;
}

/** Prose and a fence of its own, as it stands: what is in it may be an illustration. */
function isIllustration(header: string, hunk: readonly string[], lost: number): boolean {
  const bare = (i: number) => (lost & (1 << i)) > 0 && !isChanged(hunk[i]!);
  return header !== "@@ counts @@" && hunk.some((line, i) => i > 0 && isFence(line) && bare(i) && bare(i - 1));
}

test.each(Object.keys(AROUND))(
  "no changed line is left out where context is a fence, and has lost its space: in %s",
  (around) => {
    for (const header of ["@@ @@", "@@ ... @@", "@@", "@@ counts @@"])
      for (const hunk of HUNKS)
        for (const before of ["", "@@ counts @@"])
          for (let lost = 0; lost < 1 << hunk.length; lost++) {
            if (hunk.some((line, i) => lost & (1 << i) && isChanged(line))) continue;
            if (isIllustration(header, hunk, lost)) continue;
            const first = before && textOf(header, ["# Title", "-one", "+ONE"], 0);
            const text = AROUND[around]!(NAMES + first + textOf(header, hunk, lost));
            const wanted = hunk.filter(isChanged).length + (before === "" ? 0 : 2);
            for (const read of [parseEdits, parsePatch]) {
              const reading = read(text);
              if (!reading.ok) continue;
              const lines = reading.patch.files.flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines));
              expect(lines.filter(isChanged).length, text).toBe(wanted);
            }
          }
  },
);
