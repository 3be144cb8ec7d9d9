import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readPairs } from "../bench/pairs.js";
import { chooseChange } from "../bench/spoil.js";
import { random } from "../test/random.js";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../..", import.meta.url));

/** Changes of real files, each to be carried by every entry. */
function makeChanges(count: number) {
  const dice = random(20_261_122);
  const changes = readPairs().flatMap((pair) => {
    const meant = pair.before.length < 20_000 && pair.before.endsWith("\n") ? chooseChange(pair, dice, 1) : null;
    if (!meant) return [];
    const old = meant.file.hunks[0]!.lines.filter((line) => line[0] !== "+").map((line) => line.slice(1));
    // Formats without line numbers need a place that is the only one.
    return meant.before.split(old.join("\n")).length === 2
      ? [{ path: meant.path, before: meant.before, after: meant.after }]
      : [];
  });
  return changes.slice(0, count);
}

/** What a user does with each entry; `load` imports or requires it. Gives how many edits each entry has carried. */
const USE = `async function use(load, changes) {
  const root = await load("");
  const { createPatch, parseEdits, parsePatch, formatPatch, applyPatch, applyStrictly, invertPatch, merge3, readEdits } = root;
  const { toTextEdits } = await load("/editor");
  const { planEdits, applyPlan, undo } = await load("/node");
  const done = {};
  const check = (entry, path, made, wanted) => {
    if (made !== wanted) throw new Error(entry + " of " + path + " gives " + JSON.stringify(made));
    done[entry] = (done[entry] ?? 0) + 1;
  };
  const apply = (reading, text) => {
    if (!reading.ok) return reading;
    const result = applyPatch(reading.patch, text);
    return result.ok ? result.text : result;
  };
  const folder = mkdtempSync(join(tmpdir(), "edits-used-"));
  for (const { path, before, after } of changes) {
    const patch = createPatch(before, after, { path });
    const diff = formatPatch(patch);
    check(".", path, apply(parseEdits("Here it is:\\n\\n\`\`\`\`diff\\n" + diff + "\`\`\`\`\\n"), before), after);
    check(".", path, applyPatch(invertPatch(patch), after).text, before);
    check(".", path, applyStrictly(parsePatch(diff, { strict: true }).patch, before).text, after);
    const reader = readEdits();
    const events = [...reader.push(diff.slice(0, 40)), ...reader.push(diff.slice(40)), ...reader.end({ complete: true })];
    const edit = events.find(({ type }) => type === "edit");
    check(".", path, edit && applyPatch(edit.patch, before).text, after);
    const merge = merge3(before, after, before);
    check(".", path, merge.text, after);
    const { edits } = toTextEdits(patch, before);
    const lines = before.split("\\n");
    for (const { range: { start, end }, newText } of [...edits].reverse()) {
      const kept = (lines[end.line] ?? "").slice(end.character);
      lines.splice(start.line, end.line - start.line + 1, (lines[start.line] ?? "").slice(0, start.character) + newText + kept);
    }
    check("./editor", path, lines.join("\\n"), after);
    const name = "file-" + (done["./node"] ?? 0) + ".txt";
    writeFileSync(join(folder, name), before);
    const plan = await planEdits(createPatch(before, after, { path: name }), { root: folder });
    const written = await applyPlan(plan, { root: folder });
    check("./node", path, readFileSync(join(folder, name), "utf8"), after);
    await undo(written, { root: folder });
    check("./node", path, readFileSync(join(folder, name), "utf8"), before);
  }
  rmSync(folder, { recursive: true });
  console.log(JSON.stringify(done));
}
use(load, JSON.parse(readFileSync("changes.json", "utf8")));
`;

const NAMES = "{ mkdtempSync, readFileSync, rmSync, writeFileSync }";
const PROGRAMS = {
  "use.mjs": `import ${NAMES} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
const load = (entry) => import("@parlance/edits" + entry);
${USE}`,
  "use.cjs": `const ${NAMES} = require("node:fs");
const { tmpdir } = require("node:os");
const { join } = require("node:path");
const load = (entry) => require("@parlance/edits" + entry);
${USE}`,
};

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "edits-packed-"));
  const pnpm = join(root, "node_modules/.bin/pnpm");
  const { stdout } = await run(pnpm, ["--filter", "@parlance/edits", "pack", "--pack-destination", folder], {
    cwd: root,
  });
  await writeFile(join(folder, "package.json"), JSON.stringify({ name: "user", private: true }));
  await run("npm", ["install", "--no-audit", "--no-fund", stdout.trim().split("\n").at(-1)!], { cwd: folder });
  await writeFile(join(folder, "changes.json"), JSON.stringify(makeChanges(30)));
}, 240_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(Object.entries(PROGRAMS))(
  "the packed package alone carries 30 changes of real files through each of its entries, more than 200 in all: %s",
  async (file, program) => {
    await writeFile(join(folder, file), program);
    const done = JSON.parse((await run(process.execPath, [file], { cwd: folder })).stdout) as Record<string, number>;
    expect(Object.keys(done).sort()).toEqual([".", "./editor", "./node"]);
    expect(Math.min(...Object.values(done))).toBeGreaterThanOrEqual(30);
    expect(Object.values(done).reduce((sum, count) => sum + count)).toBeGreaterThan(200);
  },
);
