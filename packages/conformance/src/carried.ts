import type { Json } from "@parlance/wire";
import type { Samples } from "./samples.js";

/** An optional or required parameter beside the path, with a value that an encoding would change. */
export interface CarriedParameter {
  readonly key: string;
  readonly place: "query" | "header" | "cookie";
  readonly value: Json;
}

/** Characters that a header may hold as they are, and that a query or a cookie holds only encoded. */
const HARD = { query: "a&b=c+d e/%41#ä", header: 'one "two"; three, %41', cookie: 'ä=;, "%41"' } as const;

export function carriedParameters(samples: Samples, name: string): CarriedParameter[] {
  const { parameters = {}, when = {} } = samples.contract.operations[name]!;
  return Object.entries(parameters).flatMap(([key, { in: place, type }]) => {
    if (place === "path" || key in when) return [];
    const free = type === "string" && samples.isFree(name, key);
    return { key, place, value: free ? HARD[place] : samples.parameter(name, key) };
  });
}

/** The declared headers of an answer, each with a value. */
export function answerHeaders(samples: Samples, name: string): Readonly<Record<string, Json>> | undefined {
  const { headers } = samples.contract.operations[name]!.answer;
  if (headers === undefined) return undefined;
  return Object.fromEntries(Object.keys(headers).map((key) => [key, samples.answerHeader(name, key)]));
}

/** What a client returns for an answer: beside headers, the value is its `body`. */
export function resultOf(samples: Samples, name: string, value: Json | undefined): Json {
  const headers = answerHeaders(samples, name);
  if (headers === undefined) return value ?? null;
  const { json, text, binary } = samples.contract.operations[name]!.answer;
  return { headers, ...((json ?? text ?? binary) !== undefined && { body: value ?? null }) };
}
