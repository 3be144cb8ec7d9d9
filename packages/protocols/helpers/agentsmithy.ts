/** What the agentsmithy document says of an agent's behaviour, beside its messages. */

/** The part of a request that the test reads. */
export interface EditRequest {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly context?: {
    readonly current_file?: { readonly path?: string; readonly content?: string; readonly selection?: string };
  };
}

/** "Query contains modification keywords": the document's list, in its order. */
export const editKeywords = [
  "refactor",
  "improve",
  "optimize",
  "fix",
  "debug",
  "change",
  "update",
  "modify",
  "rename",
  "add",
  "remove",
  "rewrite",
  "clean",
  "simplify",
  "enhance",
  "correct",
  "resolve",
] as const;

const editWord = new RegExp(`\\b(?:${editKeywords.map(inflected).join("|")})\\b`, "i");

/**
 * Whether an agent answers this request with diffs. "The agent automatically generates diff events when: 1. User provides
 * code context (current file or selection) 2. Query contains modification keywords 3. Both conditions are met." The query is
 * the user's last message. A keyword counts as a word of its own in any of its forms (`fixes`, `modified`, `debugging`), not
 * inside another word: `address` does not ask to add, nor `prefix` to fix.
 */
export function hasEditIntent({ messages, context }: EditRequest): boolean {
  const file = context?.current_file;
  if (!file?.path && !file?.content && !file?.selection) return false;
  const query = messages.findLast(({ role }) => role === "user")?.content ?? "";
  return editWord.test(query);
}

/** A pattern of an English verb's forms. */
function inflected(verb: string): string {
  const stem = verb.slice(0, -1);
  const last = verb.at(-1)!;
  if (last === "e") return `${stem}(?:e[sd]?|ing)`;
  if (last === "y") return `${stem}(?:y(?:ing)?|ie[sd])`;
  return `${verb}(?:e?s|${last}?(?:ed|ing))?`;
}
