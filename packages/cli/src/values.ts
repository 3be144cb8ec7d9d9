import { slowPatterns } from "@parlance/language/lint";
import { parseHttpUrl } from "@parlance/wire/internal/http";
import { UsageError } from "./io.js";

/** The address of a server, which an option has. `instead` says how to give a user name and a password. */
export function urlOf(text: string, instead: string, option = "target"): string {
  const url = parseHttpUrl(text);
  if (!url) throw new UsageError(`${text} is not an http or https URL`);
  if (url.username || url.password) throw new UsageError(`--${option} has a user name or password: ${instead}`);
  return text;
}

export function portOf(option: string, text = "0"): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UsageError(`--${option} ${text} is not a port`);
  return port;
}

/** Names and values, such as those of headers. `what` shows how to write one. */
export function pairsOf(texts: readonly string[] = [], by: string, what: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf(by);
      // A value may be a secret: it is not printed.
      if (at < 1) throw new UsageError(`write it as ${what}`);
      return [text.slice(0, at), text.slice(at + 1).trim()];
    }),
  );
}

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
