/// <reference path="../recheck.d.ts" />

import type { SchemaObject } from "@parlance/wire";
import { escapeStep } from "@parlance/wire/internal/pointer";
import type { Ajv2020, ValidateFunction } from "ajv/dist/2020.js";
import type { Finding } from "../finding.js";
import { subschemas } from "../walk.js";
import { idOf, inContract, parameters, type Subject } from "./subject.js";
import { significant } from "./vocabulary.js";

/** Every file has an example, and every example and default fits its schema. */
export function* examples(subject: Subject, ajv: Ajv2020): Generator<Finding> {
  for (const [file, root] of Object.entries(subject.schemas)) {
    if (!(root.examples as unknown[] | undefined)?.length) {
      const message = 'has no example: "examples" holds at least one, as it is on the wire';
      yield { rule: "example", file, pointer: "", message };
    }
    if (subject.broken.has(file)) continue;
    for (const { schema, pointer } of subschemas(root)) {
      if (!("examples" in schema || "default" in schema)) continue;
      // Reuses the validator compiled for the file.
      const check = ajv.getSchema(`${idOf(file)}#${pointer.split("/").map(encodeURIComponent).join("/")}`)!;
      yield* misfits(schema, check, file, pointer);
    }
  }
  for (const { schema, pointer } of parameters(subject.source)) {
    try {
      yield* misfits(schema, ajv.compile(significant(schema) as SchemaObject), "contract.json", pointer);
    } catch (error) {
      yield inContract("keyword", pointer, (error as Error).message);
    }
  }
}

function* misfits(schema: SchemaObject, check: ValidateFunction, file: string, pointer: string): Generator<Finding> {
  const places: [string, unknown][] = (schema.examples ?? []).map((example, index) => [`examples/${index}`, example]);
  if ("default" in schema) places.push(["default", schema.default]);
  for (const [place, value] of places) {
    if (check(value)) continue;
    for (const { instancePath, message } of check.errors ?? []) {
      const at = `${pointer}/${place}${instancePath}`;
      yield { rule: "example", file, pointer: at, message: `does not match its schema: ${message}` };
    }
  }
}

/** Patterns that an input makes slow, and how slow: such a one can stop a program. Recheck is loaded only if there is a pattern. */
export async function slowPatterns(patterns: Iterable<string>): Promise<ReadonlyMap<string, string>> {
  const slow = new Map<string, string>();
  const all = new Set(patterns);
  if (all.size === 0) return slow;
  // The build without Java and without a native binary. It is CommonJS, which loaders import in two shapes.
  const loaded = await import("recheck/lib/browser.js");
  const { checkSync } = loaded.default ?? loaded;
  for (const pattern of all) {
    // The automaton is exact and takes milliseconds; patterns it does not support, such as a look-behind, are fuzzed.
    const exact = checkSync(pattern, "u", { checker: "automaton" });
    const verdict = exact.status === "unknown" ? checkSync(pattern, "u", { timeout: 2000 }) : exact;
    if (verdict.status === "vulnerable") slow.set(pattern, verdict.complexity.summary);
  }
  return slow;
}

export async function patterns(subject: Subject): Promise<Finding[]> {
  const found: { pattern: string; file: string; pointer: string }[] = [];
  const collect = (schema: SchemaObject, file: string, pointer: string) => {
    if (typeof schema.pattern === "string")
      found.push({ pattern: schema.pattern, file, pointer: `${pointer}/pattern` });
    for (const pattern of Object.keys((schema.patternProperties as object | undefined) ?? {}))
      found.push({ pattern, file, pointer: `${pointer}/patternProperties/${escapeStep(pattern)}` });
  };
  for (const [file, root] of Object.entries(subject.schemas))
    for (const { schema, pointer } of subschemas(root)) collect(schema, file, pointer);
  for (const { schema, pointer } of parameters(subject.source)) collect(schema, "contract.json", pointer);
  const slow = await slowPatterns(found.map(({ pattern }) => pattern));
  return found.flatMap(({ pattern, file, pointer }) => {
    const summary = slow.get(pattern);
    if (summary === undefined) return [];
    return {
      rule: "pattern",
      file,
      pointer,
      message: `"${pattern}" can be made slow (${summary}); write it without nested repetition`,
    };
  });
}
