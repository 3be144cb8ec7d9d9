import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Finding } from "../finding.js";
import type { Source } from "../source.js";
import { inContract } from "./subject.js";

/** The formats that a contract declares: new names, and patterns that are regular expressions. */
export function* formats(source: Source, known: ReadonlySet<string>): Generator<Finding> {
  for (const [name, { pattern }] of Object.entries<Source>(source.formats ?? {})) {
    const at = `/formats/${escapeStep(name)}`;
    if (known.has(name))
      yield inContract("format", at, `"${name}" is a format of JSON Schema; give yours another name`);
    if (typeof pattern !== "string") continue;
    try {
      new RegExp(pattern, "u");
    } catch (error) {
      const reason = (error as Error).message.replace(/^.*: /, "");
      yield inContract("format", `${at}/pattern`, `is not a valid regular expression: ${reason}`);
    }
  }
}
