import { slowPatterns } from "@parlance/language/lint";
import { UsageError } from "./io.js";

/**
 * The regular expressions of `--redact`. One that an input makes slow is refused: a server's text could stop the recording. None is printed,
 * because it may be a secret.
 */
export async function patternsOf(sources: readonly string[] = []): Promise<RegExp[]> {
  const refuse = (at: number, why: string): never => {
    throw new UsageError(`${sources.length > 1 ? `--redact PATTERN number ${at + 1}` : "a --redact PATTERN"} ${why}`);
  };
  const patterns = sources.map((source, at) => {
    if (source === "") return refuse(at, "is empty");
    try {
      return new RegExp(source, "gu");
    } catch {
      return refuse(at, "is not a regular expression");
    }
  });
  for (const [source, how] of await slowPatterns(sources))
    refuse(sources.indexOf(source), `can be made slow by a text (${how}): write it without nested repetition`);
  return patterns;
}
