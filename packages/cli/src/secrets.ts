import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { secretsInEnvironment } from "@parlance/recordings/internal/redaction";
import { type Io, UsageError } from "./io.js";

/** The fewest characters of a secret that is searched for: a shorter one is also a part of words. */
const SHORTEST = 8;

/**
 * What `--secrets FILE` names, one on each line, and the values of the environment's variables that are named as secrets. None is printed.
 */
export async function secretsOf(path: string | undefined, io: Io): Promise<string[]> {
  const own = secretsInEnvironment(io.env);
  if (path === undefined) return own;
  const lines = (await textOf(path, io)).replace(/^\uFEFF/, "").split(/\r?\n/);
  const short = lines.findIndex((line) => line !== "" && line.length < SHORTEST);
  if (short >= 0)
    throw new UsageError(
      `line ${short + 1} of --secrets ${path} has fewer than ${SHORTEST} characters, which other words may have: use --redact`,
    );
  const given = lines.filter((line) => line !== "");
  if (given.length === 0) throw new UsageError(`--secrets ${path} has no secret: write one on each line`);
  return [...new Set([...given, ...own])];
}

async function textOf(path: string, io: Io): Promise<string> {
  if (path !== "-") {
    const full = resolve(io.cwd, path);
    return readFile(full, "utf8").catch((error) => {
      // Reading a folder says not which.
      throw Object.assign(error, { path: full });
    });
  }
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of io.stdin)
    text += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}
