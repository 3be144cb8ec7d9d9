import { SHORTEST } from "./known.js";
import { isElse, mayBeSecret } from "./looks.js";
import { kindOfName } from "./names.js";
import { isWord } from "./placeholders.js";

/** The values of variables that are named as secrets, such as GITHUB_TOKEN, without those that stand for something else: a word, a path. */
export function secretsInEnvironment(variables: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(variables).flatMap(([name, value = ""]) =>
    kindOfName(name) === "secret" && value.length >= SHORTEST && mayBeSecret(value) && !isElse(value) && !isWord(value)
      ? [value]
      : [],
  );
}
