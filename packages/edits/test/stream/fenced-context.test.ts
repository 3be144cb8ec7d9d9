import { type Patch, parseEdits, parsePatch, readEdits } from "@parlance/edits";
import { expect, test } from "vitest";

/** Hunks of a Markdown file; marked lines are changed, the others context. */
const HUNKS = [
  ["code()", "```", "", "-## License", "+## Licence", "MIT"],
  ["```js", "code()", "```", "-x", "+y", "z"],
  ["a", "```", "-x", "b", "```", "+y"],
  ["-x", "+y", "a", "```", "-p", "+q", "b"],
  ["```", "-x", "```", "+y"],
];
const AROUND: Readonly<Record<string, (diff: string) => string>> = {
  nothing: (diff) => diff,
  prose: (diff) => `Here is:\n\n${diff}\nDone.\n`,
  "a fence": (diff) => `\`\`\`diff\n${diff}\`\`\`\n`,
  "a longer fence and prose": (diff) => `Text.\n\n\`\`\`\`diff\n${diff}\`\`\`\`\n\nDone.\n`,
};
const NAMES = "--- a/README.md\n+++ b/README.md\n";
const isChanged = (line: string) => /^[-+]/.test(line);

/** The hunk with its context marked, but for the lines of `lost`: each is a bit. */
function textOf(header: string, hunk: readonly string[], lost: number): string {
  const count = (mark: string) => hunk.filter((line) => !isChanged(line) || line[0] === mark).length;
  const lines = hunk.map((line, i) => (isChanged(line) || lost & (1 << i) ? line : ` ${line}`));
  return `${header.replace("counts", `-9,${count("-")} +9,${count("+")}`)}\n${lines.join("\n")}\n`;
}

/** The patches that a reader of whole texts, or of streams, makes of a text; none where it refuses. */
const READERS: Readonly<Record<string, (text: string) => readonly Patch[]>> = {
  parseEdits: (text) => patchesOf(parseEdits(text)),
  parsePatch: (text) => patchesOf(parsePatch(text)),
  readEdits(text) {
    const reader = readEdits();
    return [...reader.push(text), ...reader.end()].flatMap((event) => (event.type === "edit" ? [event.patch] : []));
  },
};

function patchesOf(reading: ReturnType<typeof parseEdits>): readonly Patch[] {
  return reading.ok ? [reading.patch] : [];
}

test.each(Object.keys(AROUND))(
  "no changed line is left out where context is a fence, and has lost its space: in %s",
  (around) => {
    for (const header of ["@@ @@", "@@ ... @@", "@@", "@@ counts @@"])
      for (const hunk of HUNKS)
        for (const before of ["", "@@ counts @@", "@@ @@"])
          for (let lost = 0; lost < 1 << hunk.length; lost++) {
            if (hunk.some((line, i) => lost & (1 << i) && isChanged(line))) continue;
            const first = before && textOf(before, ["# Title", "-one", "+ONE"], 0);
            const text = AROUND[around]!(NAMES + first + textOf(header, hunk, lost));
            const wanted = hunk.filter(isChanged).length + (before === "" ? 0 : 2);
            for (const [name, read] of Object.entries(READERS)) {
              const patches = read(text);
              const lines = patches.flatMap(({ files }) =>
                files.flatMap(({ hunks }) => hunks.flatMap((one) => one.lines)),
              );
              if (patches.length > 0) expect(lines.filter(isChanged).length, `${name}: ${text}`).toBe(wanted);
            }
          }
  },
);

test.each<[what: string, counts: string, lines: string[]]>([
  ["new lines", "-1,2 +1,4", [" a", " ```", "+x", "+y"]],
  ["old lines", "-1,4 +1,2", [" a", " ```", "-x", "-y"]],
])(
  "a hunk that ends with %s alone is read where its context is a fence that has lost its space",
  (_, counts, lines) => {
    const written = lines.join("\n").replace(" ```", "```");
    const reading = parsePatch(`\`\`\`diff\n${NAMES}@@ ${counts} @@\n${written}\n\`\`\`\n`);
    expect(reading).toMatchObject({ ok: true, patch: { files: [{ hunks: [{ lines }] }] } });
  },
);
