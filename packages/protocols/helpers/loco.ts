/** What the editor gathers for a message, by the rules of the loco document. */

import type { MessageContext, TokenMessage } from "../src/loco.js";

/** Each thing to gather, and the property of `client.user_message.context` that carries it. */
export const contextParts = {
  current_file: "active_editor",
  selection: "active_editor",
  function_scope: "active_editor",
  diagnostics: "diagnostics",
  open_editors: "open_editors",
  terminal_output: "terminal_output",
  test_output: "terminal_output",
  git_diff: "git_context",
  test_files: "related_files",
  source_files: "related_files",
  dependents: "related_files",
  imports: "related_files",
} as const satisfies Readonly<Record<string, keyof MessageContext>>;

export type ContextPart = keyof typeof contextParts;

/** "Always: Current file, selection, diagnostics, open editors". */
export const alwaysGathered: readonly ContextPart[] = ["current_file", "selection", "diagnostics", "open_editors"];

/** "Conditionally (based on slash command or task)". A `function_scope` stands in for a selection where there is none. */
export const gatheredFor: Readonly<Record<string, readonly ContextPart[]>> = {
  "/fix": ["diagnostics", "terminal_output", "git_diff"],
  "/test": ["test_files", "source_files", "test_output"],
  "/explain": ["selection", "function_scope"],
  "/refactor": ["current_file", "dependents", "imports"],
};

/** The words by which a message without a slash command names its task. */
const taskWords: readonly (readonly [command: string, words: RegExp])[] = [
  ["/fix", /\b(?:fix(?:e[sd]|ing)?|debug(?:ging)?|repair|bugs?|broken|crash(?:es|ing)?)\b/i],
  ["/test", /\b(?:tests?|testing|coverage)\b/i],
  ["/explain", /\b(?:explain|describe|what (?:does|is)|how does)\b/i],
  ["/refactor", /\b(?:refactor(?:ing)?|rename|extract|restructure|simplify|clean up)\b/i],
];

/** The command whose task a message names first: "Fix the failing test" is `/fix`. Undefined for another task. */
export function taskOf(message: string): string | undefined {
  const found = taskWords
    .map(([command, words]) => ({ command, at: message.search(words) }))
    .filter(({ at }) => at >= 0);
  return found.sort((a, b) => a.at - b.at)[0]?.command;
}

/**
 * What the editor gathers for a message, each part once: what is always gathered, then what the slash command adds, or the task that the
 * message names where there is no command. `/explain` is about "just selection or current function scope", and about nothing else.
 */
export function contextFor(command?: string, message = ""): readonly ContextPart[] {
  const task = command ?? taskOf(message);
  if (task === "/explain") return gatheredFor[task]!;
  const more = task !== undefined && Object.hasOwn(gatheredFor, task) ? gatheredFor[task]! : [];
  return [...new Set([...alwaysGathered, ...more])];
}

/**
 * Fills `cumulative_text` in the tokens of one answer, in their order: for a client that wants what its server leaves out, or for a
 * server that was asked for it. On the wire it makes a stream quadratic in the length of the answer.
 */
export function cumulate(): (message: TokenMessage) => TokenMessage & { cumulative_text: string } {
  let cumulative_text = "";
  return (message) => {
    cumulative_text += message.token;
    return { ...message, cumulative_text };
  };
}
