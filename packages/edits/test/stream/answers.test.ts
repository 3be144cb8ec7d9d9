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

  it("has every line once: in the text, in a block's progress, or as the fence around blocks", () => {
    const told = whole.map((event) => (event.type === "text" || event.type === "progress" ? event.text : "")).join("");
    const rest = new Map<string, number>();
    for (const line of text.split("\n")) rest.set(line, (rest.get(line) ?? 0) + 1);
    for (const line of told.split("\n")) rest.set(line, (rest.get(line) ?? 0) - 1);
    if (whole.some((event) => event.type === "error" && event.error.reason === "too-long")) return;
    for (const [line, count] of rest) {
      if (line.trim() === "" || /^\s*(?:`{3,}|<\/\w+>)\s*$/.test(line)) continue;
      expect(count, JSON.stringify(line)).toBe(0);
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

  it("says what was read of a block that is broken", () => {
    for (const event of whole) {
      if (event.type !== "error") continue;
      const progress = whole.filter((other) => other.type === "progress" && other.edit === event.edit);
      expect(event.source).toBe(progress.map((other) => (other.type === "progress" ? other.text : "")).join(""));
      expect(text).toContain(event.source);
    }
  });
});
