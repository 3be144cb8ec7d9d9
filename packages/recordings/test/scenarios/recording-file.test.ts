import fs, { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { RecordingFile } from "../../src/node/file.js";

// When the lines of a recording are in its file, and what happens where the disk takes no more.

const real = { writeSync: fs.writeSync, closeSync: fs.closeSync };
const fault = { after: Number.POSITIVE_INFINITY };
const closed: number[] = [];

/** Puts these functions in the place of Node's, also for modules that are loaded already. */
function replace(functions: Partial<typeof fs>): void {
  Object.assign(fs, functions);
  syncBuiltinESMExports();
}

function opened() {
  const folder = mkdtempSync(join(tmpdir(), "parlance-file-"));
  replace({
    writeSync: ((...given: Parameters<typeof real.writeSync>) => {
      if (fault.after-- <= 0) throw new Error("no space left on device");
      return real.writeSync(...given);
    }) as typeof real.writeSync,
    closeSync(fd) {
      closed.push(fd);
      real.closeSync(fd);
    },
  });
  onTestFinished(() => {
    replace(real);
    fault.after = Number.POSITIVE_INFINITY;
    rmSync(folder, { recursive: true });
  });
  const path = join(folder, "a.jsonl");
  closed.length = 0;
  const errors: string[] = [];
  const file = new RecordingFile(path, ({ message }) => errors.push(message));
  return { file, errors, text: () => readFileSync(path, "utf8") };
}

test("the lines of each tick are in the file after it, and those of a batch at once", async () => {
  const { file, errors, text } = opened();
  const seen: string[] = [];
  for (const line of ["a\n", "b\n", "c\n"]) {
    file.write(line);
    file.write(line);
    seen.push(text());
    await turn();
    seen.push(text());
  }
  expect(seen).toEqual(["", "a\na\n", "a\na\n", "a\na\nb\nb\n", "a\na\nb\nb\n", "a\na\nb\nb\nc\nc\n"]);
  const batch = "x".repeat(256 * 1024);
  file.write(batch);
  expect(text()).toHaveLength(12);
  file.write("y");
  expect(text()).toHaveLength(12 + batch.length + 1);
  // A batch begins anew behind one that was written.
  file.write(batch);
  expect(text()).toHaveLength(12 + batch.length + 1);
  file.close();
  expect(errors).toEqual([]);
});

test("a closed file takes no more lines, and is closed once", () => {
  const { file, errors, text } = opened();
  file.write("a\n");
  expect(file.lines).toBe(1);
  file.close();
  const whole = text();
  expect(whole).toMatch(/^a\n\{"end":\{"lines":1,"sha256":"[0-9a-f]{64}"\}\}\n$/);
  expect(file.lines).toBe(2);
  file.write("b\n");
  file.close();
  expect([text(), file.lines, errors, closed.length]).toEqual([whole, 2, [], 1]);
});

test.each([
  ["its lines", 0, true, ["a\n"], 1, ""],
  ["its later lines", 1, true, ["a\n", "b\n"], 2, "a\n"],
  ["what is left when it is closed", 0, false, ["a\n", "b\n"], 2, ""],
  ["its end line", 1, true, ["a\n"], 1, "a\n"],
])(
  "a disk that does not take %s is reported once, and the file stays cut",
  async (_, after, waits, lines, count, left) => {
    const { file, errors, text } = opened();
    fault.after = after;
    for (const line of lines) {
      file.write(line);
      if (waits) await turn();
    }
    file.close();
    file.write("more\n");
    await turn();
    file.close();
    const found = { errors, count: file.lines, text: text(), closed: closed.length };
    expect(found).toEqual({ errors: ["no space left on device"], count, text: left, closed: 1 });
  },
);
