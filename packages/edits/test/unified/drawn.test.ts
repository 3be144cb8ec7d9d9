import { isDeepStrictEqual } from "node:util";
import { applyStrictly, createPatch, formatPatch, parsePatch } from "@parlance/edits";
import { expect, test, vi } from "vitest";
import { applyAsGit } from "../git-apply.js";
import { type Random, random } from "../random.js";
import { seeded } from "../seed.js";
import { askGitOfEach, askUs } from "./ask.js";

vi.setConfig({ testTimeout: 300_000 });

const isLong = Boolean(process.env.PARLANCE_LONG);
const seed = seeded(isLong ? Date.now() % 1_000_000 : 20_261_122);
const count = isLong ? 3_000 : 120;

const TEXTS = ["", "a", "a\n", "b\n", "a\nb", "a\nb\n", "a\n\n", "a\nb\na\n", "a\r\nb\r\n", "b\na\nb"];
/** The text's last line, or the patch's, has no line feed, and something follows it. */
const GLUED = "a line that git glues to the next";
const EMPTY = "e69de29";
const PLAIN = ["100644", "100755"];

/** A patch of one file as header lines and a hunk, each drawn by itself, so that they may be at odds. */
interface Drawn {
  readonly text: string;
  readonly mode: number;
  readonly patch: string;
}

function draw(dice: Random): Drawn {
  const text = dice.pick(TEXTS);
  const before = dice.chance(0.7) ? text : dice.pick(TEXTS);
  const after = dice.pick(TEXTS);
  const [file] = createPatch(before, after, { path: "f", context: dice.pick([1, 3]) }).files;
  const hunks = file && dice.chance(0.9) ? formatPatch({ files: [file] }).replace(/^[^@]*/, "") : "";
  const kind = dice.pick(["modify", "modify", "modify", "rename", "create", "delete"]);
  const name = (right: string) => (dice.chance(0.95) ? right : dice.pick(["f", "g", "h"]));
  const target = kind === "rename" ? "g" : "f";
  const names = {
    from: name("f"),
    to: name(target),
    minus: name("f"),
    plus: name(target),
    old: name("f"),
    now: name(target),
  };
  const some = (chance: number, line: () => string) => (dice.chance(chance) ? [line()] : []);
  const mode = () => dice.pick(PLAIN);
  const index = [dice.pick(["1234567", "1234567", EMPTY]), dice.pick(["89abcde", "89abcde", EMPTY])];
  // Without hunks git takes a header for garbage where its modes tell of no change.
  const whole = hunks === "" ? ["old mode 100644", "new mode 100755"] : [];
  const changed = () =>
    whole.length > 0 ? whole : [...some(0.4, () => `old mode ${mode()}`), ...some(0.4, () => `new mode ${mode()}`)];
  const modes =
    kind === "create" || kind === "delete"
      ? some(0.9, () => `${kind === "create" ? "new" : "deleted"} file mode ${mode()}`)
      : changed();
  const header = [
    `diff --git a/${names.from} b/${names.to}`,
    ...modes,
    ...(kind === "rename" ? ["similarity index 50%", `rename from ${names.old}`, `rename to ${names.now}`] : []),
    ...some(0.6, () => `index ${index.join("..")}${dice.pick(["", hunks && " 100644", hunks && " 100755"])}`),
  ];
  if (hunks !== "") {
    header.push(kind === "create" ? "--- /dev/null" : `--- a/${names.minus}`);
    header.push(kind === "delete" ? "+++ /dev/null" : `+++ b/${names.plus}`);
  }
  return { text, mode: dice.pick([0o644, 0o755]), patch: `${header.join("\n")}\n${hunks}` };
}

/** Why we refuse what git takes: git takes one side of these contradictions. */
function findDoubt({ patch, text }: Drawn, made: string | null): string | null {
  const names = (expression: RegExp) => new Set([...patch.matchAll(expression)].map(([, name]) => name));
  const [before, after] = [
    names(/^(?:diff --git a\/|--- a\/|rename from )(.)/gm),
    names(/^(?:diff --git .* b\/|\+\+\+ b\/|rename to )(.)/gm),
  ];
  if (before.size > 1 || after.size > 1) return "names";
  if (!/^rename/m.test(patch) && [...before].join() !== [...after].join()) return "a rename that is not told";
  const [, old, now] = /^index (\w+)\.\.(\w+)/m.exec(patch) ?? [];
  const reading = parsePatch(patch, { strict: true });
  const [theirs, ours] = [false, true].map((exactly) =>
    reading.ok ? applyAsGit(reading.patch.files[0]!, text, { unidiffZero: false, exactly }) : null,
  );
  if (theirs !== ours) return GLUED;
  if ((old === EMPTY && text !== "") || (now === EMPTY && made)) return "an empty file that is not";
  return made === null && /^[+ ](?!\+\+ )/m.test(patch) ? "lines left in a deleted file" : null;
}

/** What strict reading, applying and planning make of it together. */
async function askStrictly({ patch, text, mode }: Drawn) {
  const reading = parsePatch(patch, { strict: true });
  return reading.ok && applyStrictly(reading.patch, text).ok ? askUs(patch, text, mode) : null;
}

test("drawn headers and ends of files: what is taken is what git makes, and what git alone takes is a contradiction", async () => {
  const dice = random(seed);
  const tally: Record<string, number> = {};
  const all = Array.from({ length: count }, () => draw(dice));
  const answers = askGitOfEach(all, "--whitespace=nowarn");
  for (const [i, drawn] of all.entries()) {
    const theirs = answers[i]!;
    const ours = await askStrictly(drawn);
    const doubt = isDeepStrictEqual(ours, theirs) ? null : findDoubt(drawn, theirs?.text ?? null);
    // Where git glues a line to the next, what we make instead is known as well.
    if (doubt === null || (ours !== null && doubt !== GLUED))
      expect(ours, JSON.stringify(drawn, null, 1)).toEqual(theirs);
    const outcome = doubt ?? (ours === null ? "refused" : "taken");
    tally[outcome] = (tally[outcome] ?? 0) + 1;
  }
  expect(Math.min(tally.taken!, tally.refused!, count - tally.taken! - tally.refused!)).toBeGreaterThan(count / 12);
});
