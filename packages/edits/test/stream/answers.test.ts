import { describe, expect, it, test } from "vitest";
import { eventsOf, readAnswers, show } from "./answers.js";

const answers = readAnswers();

test("there are at least sixty answers", () => {
  expect(answers.length).toBeGreaterThanOrEqual(60);
  expect(new Set(answers.map((answer) => answer.name)).size).toBe(answers.length);
});

describe.each(answers)("$name", ({ text, options, expected }) => {
  const whole = eventsOf([text], options);

  it("is read as expected", () => {
    expect(show(whole)).toBe(expected);
  });

  it("gives the same events at every two-way split and code unit by code unit", () => {
    const expected = JSON.stringify(whole);
    for (let at = 1; at < text.length; at++) {
      expect(JSON.stringify(eventsOf([text.slice(0, at), text.slice(at)], options)), `split at ${at}`).toBe(expected);
    }
    expect(JSON.stringify(eventsOf(text.split(""), options))).toBe(expected);
  });

  it("shows the new text of each edit as progress, without marks", () => {
    for (const event of whole) {
      if (event.type !== "edit" && event.type !== "doubtful") continue;
      // Only the end of such a block tells where its new text is, or that there is none.
      if (event.repairs.some(({ kind }) => kind === "marker" || kind === "no-change")) continue;
      const progress = whole.map((other) => (other.type === "progress" && other.edit === event.edit ? other.text : ""));
      // The indentation and the numbers that all lines of a block share are taken off at its end.
      const bare = (lines: readonly string[]) =>
        lines.map((line) => line.replace(/^\s*(?:\d+ ?\| ?)?/, "").trimEnd()).filter((line) => line !== "");
      const hunks = event.patch.files.flatMap((file) => file.hunks);
      const expected = hunks.flatMap(({ lines }) =>
        lines.filter((line) => line[0] !== "-").map((line) => line.slice(1)),
      );
      if (hunks.length > 0) expect(bare(progress.join("").split("\n"))).toEqual(bare(expected));
    }
  });

  it("gives no edit behind an error", () => {
    const types = whole.map(({ type }) => type);
    expect(types.indexOf("error") >= 0 && types.lastIndexOf("edit") > types.indexOf("error")).toBe(false);
  });

  it("tells of each block in order: start, path and progress, then edit, doubtful or error", () => {
    for (const [i, event] of whole.entries()) {
      if (event.type === "text") continue;
      const before = whole[i - 1];
      if (event.type === "start")
        expect(before === undefined || ["text", "edit", "doubtful", "error"].includes(before.type)).toBe(true);
      else expect(before).toMatchObject({ type: expect.stringMatching(/start|path|progress/), edit: event.edit });
    }
  });

  it("gives the source of a block that is broken", () => {
    for (const event of whole) if (event.type === "error") expect(text).toContain(event.source);
  });
});
