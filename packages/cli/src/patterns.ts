import { slowPatterns } from "@parlance/language/lint";
import { UsageError } from "./io.js";

/**
 * The regular expressions of `--redact`. One that an input makes slow is refused: a server's text could stop the recording. None is printed,
 * because it may be a secret.
 */
export async function patternsOf(sources: readonly string[] = []): Promise<RegExp[]> {
  const patterns = sources.map((source, at) => {
    const which = sources.length > 1 ? `--redact PATTERN number ${at + 1}` : "a --redact PATTERN";
    if (source === "") throw new UsageError(`${which} is empty`);
    try {
      return new RegExp(source, "gu");
    } catch {
      throw new UsageError(`${which} is not a regular expression`);
    }
  });
  const slow = await slowPatterns(sources);
  for (const [at, source] of sources.entries()) {
    const how = slow.get(source);
    const which = sources.length > 1 ? `--redact PATTERN number ${at + 1}` : "a --redact PATTERN";
    if (how !== undefined)
      throw new UsageError(`${which} can be made slow by a text (${how}): write it without nested repetition`);
  }
  return patterns;
}
