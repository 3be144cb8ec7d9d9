import { describe, expect, it } from "vitest";
import { type EditRequest, editKeywords, hasEditIntent } from "../../helpers/agentsmithy.js";
import type { ChatInput } from "../../src/agentsmithy.js";

const ask = (content: string, context?: EditRequest["context"]): EditRequest => ({
  messages: [{ role: "user", content }],
  context,
});
const selection = { current_file: { path: "utils.py", selection: "def calc(x, y):\n    return x + y" } };

describe("An edit is meant", () => {
  it("by each of the document's keywords, and no others", () => {
    expect(editKeywords.join(" ")).toBe(
      "refactor improve optimize fix debug change update modify rename add remove rewrite clean simplify enhance correct resolve",
    );
  });
  it.each(editKeywords)("by the keyword %s with code beside it", (keyword) => {
    expect(hasEditIntent(ask(`Please ${keyword} this`, selection))).toBe(true);
    expect(hasEditIntent(ask(`${keyword.toUpperCase()}!`, selection))).toBe(true);
  });

  it.each([
    "it fixes nothing",
    "adding a test",
    "I want this debugged",
    "renaming it",
    "it was modified",
    "simplifies",
    "cleaned up",
    "Refactored",
    "updating docs",
    "rewrites it",
  ])("by another form of a keyword: %s", (content) => {
    expect(hasEditIntent(ask(content, selection))).toBe(true);
  });

  it.each([{ path: "utils.py" }, { content: "x" }, { selection: "x" }])(
    "with the current file by %o",
    (current_file) => {
      expect(hasEditIntent(ask("fix it", { current_file }))).toBe(true);
    },
  );

  it("by a request of the protocol, as it is", () => {
    const request: ChatInput = { messages: [{ role: "user", content: "refactor this function" }], context: selection };
    expect(hasEditIntent(request)).toBe(true);
  });
});

describe("An edit is not meant", () => {
  it.each([
    ["no keyword", ask("What does this do?", selection)],
    ["a keyword inside another word", ask("What is the address of this prefix, and why the exchange?", selection)],
    ["no context", ask("refactor this function")],
    [
      "an empty current file",
      ask("refactor this function", { current_file: { path: "", content: "", selection: "" } }),
    ],
    [
      "a keyword in an earlier message only",
      {
        messages: [...ask("fix it").messages, { role: "assistant", content: "I fix it" }, ...ask("Thanks").messages],
        context: selection,
      },
    ],
    ["no message of the user", { messages: [{ role: "assistant", content: "fix" }], context: selection }],
  ] satisfies [string, EditRequest][])("with %s", (_, request) => {
    expect(hasEditIntent(request)).toBe(false);
  });
});
