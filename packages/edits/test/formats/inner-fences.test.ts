import { applyPatch, parseEdits, parseWholeFiles, readEdits } from "@parlance/edits";
import { expect, test } from "vitest";

const README = "# T\n\nInstall:\n\n```\nnpm i\n```\n\nUse it.\n";
const file = (path: string, text: string, fence = "```") => `${path}\n${fence}\n${text}${fence}\n`;

/** The texts that a whole answer gives, by path; the reason where it is refused. */
function read(answer: string): Record<string, string> | string {
  const reading = parseWholeFiles(answer);
  if (!reading.ok) return reading.errors[0]!.reason;
  return Object.fromEntries(
    reading.patch.files.map((one) => {
      const result = applyPatch(one, "");
      return [one.after, result.ok ? result.text : ""];
    }),
  );
}

test.each([
  ["alone", file("README.md", README)],
  ["with prose behind", `Here:\n\n${file("README.md", README)}\nDone.\n`],
  ["with a fence in the prose behind", `${file("README.md", "# T\n")}\nThen:\n\n\`\`\`\nnpm i\n\`\`\`\n`],
  ["before another file", `${file("README.md", README)}\n${file("a.js", "a\n")}`],
  ["with a path in its inner fence", file("README.md", "# T\n```\nconfig.json\n```\n")],
])("a document with a bare fence in a fence of the same length is refused, never cut: %s", (_, answer) => {
  expect(read(answer)).toBe("ambiguous");
  expect(parseEdits(answer, { wholeFiles: true })).toMatchObject({ ok: false, errors: [{ reason: "ambiguous" }] });
  for (const size of [1, 7, answer.length]) {
    const reader = readEdits({ wholeFiles: true });
    const events = [];
    for (let at = 0; at < answer.length; at += size) events.push(...reader.push(answer.slice(at, at + size)));
    events.push(...reader.end());
    expect(events.some(({ type }) => type === "edit")).toBe(false);
  }
});

test.each<[what: string, answer: string, files: Record<string, string>]>([
  ["a longer fence around it", file("README.md", README, "````"), { "README.md": README }],
  [
    "languages at its fences",
    file("README.md", README.replace("```\nnpm", "```sh\nnpm")),
    { "README.md": README.replace("```\nnpm", "```sh\nnpm") },
  ],
  ["no fence of its own", `${file("README.md", "# T\n")}\nDone.\n`, { "README.md": "# T\n" }],
  [
    "another file behind it",
    `${file("a.md", "# A\n")}\n${file("b.md", "# B\n")}`,
    { "a.md": "# A\n", "b.md": "# B\n" },
  ],
  [
    "code in a fence with a language behind it",
    `${file("a.md", "# A\n")}\n\`\`\`js\na();\n\`\`\`\n`,
    { "a.md": "# A\n" },
  ],
  ["a file of code and a fence behind it", `${file("a.js", "a\n")}\n\`\`\`\nnpm i\n\`\`\`\n`, { "a.js": "a\n" }],
])("a file is read whole with %s", (_, answer, files) => {
  expect(read(answer)).toEqual(files);
});

test("edits behind a document are read although its end is known only at the end of the answer", () => {
  const block = "b.js\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
  const reading = parseEdits(`${file("README.md", "# T\n")}\n${block}`, { wholeFiles: true });
  expect(reading).toMatchObject({ ok: true, patch: { files: [{ after: "README.md" }, { after: "b.js" }] } });
});
