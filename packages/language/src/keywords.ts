/** How the tools treat one keyword of JSON Schema. A test holds each tool to its column. */
export interface Keyword {
  /** Lint: the type of the values that it is about; any without it. */
  readonly about?: "string" | "number" | "array" | "object";
  /**
   * Compat: values that are allowed, a bound, a condition compared as a whole, a schema compared inside, a default; nothing, because it is prose,
   * or because loading removes it.
   */
  readonly compat: "values" | "floor" | "ceiling" | "whole" | "inside" | "default" | "prose" | "loaded";
  /** Types: part of the type, a line of its doc comment, or neither. */
  readonly types: "type" | "comment" | "none";
  /** Validators: whether a value can break it. */
  readonly checked: boolean;
  /** Suite: whether the suite sends values that break it alone. */
  readonly suite: boolean;
}

type Row = readonly [keywords: string, Keyword];

const checked = { checked: true, suite: true } as const;
/** Checked, and the suite's cases for the schemas inside or beside it cover it. */
const implied = { checked: true, suite: false } as const;
const prose = { compat: "prose", types: "none", checked: false, suite: false } as const;

/** Rows in the order of a doc comment's lines. */
const rows: readonly Row[] = [
  ["type", { compat: "values", types: "type", ...checked }],
  ["const enum", { compat: "values", types: "type", ...checked }],
  ["properties", { about: "object", compat: "inside", types: "type", ...implied }],
  ["required", { about: "object", compat: "inside", types: "type", ...checked }],
  ["items", { about: "array", compat: "inside", types: "type", ...implied }],
  ["$ref allOf", { compat: "inside", types: "type", ...implied }],
  ["anyOf oneOf", { compat: "inside", types: "type", ...checked }],
  ["prefixItems", { about: "array", compat: "whole", types: "type", ...implied }],
  ["patternProperties", { about: "object", compat: "whole", types: "type", ...implied }],
  ["additionalProperties", { about: "object", compat: "whole", types: "type", ...checked }],
  ["format", { compat: "whole", types: "comment", ...checked }],
  ["default", { ...prose, compat: "default", types: "comment" }],
  ["minimum exclusiveMinimum", { about: "number", compat: "floor", types: "comment", ...checked }],
  ["maximum exclusiveMaximum", { about: "number", compat: "ceiling", types: "comment", ...checked }],
  ["multipleOf", { about: "number", compat: "whole", types: "comment", ...checked }],
  ["minLength", { about: "string", compat: "floor", types: "comment", ...checked }],
  ["maxLength", { about: "string", compat: "ceiling", types: "comment", ...checked }],
  ["pattern", { about: "string", compat: "whole", types: "comment", ...checked }],
  ["minItems", { about: "array", compat: "floor", types: "comment", ...checked }],
  ["maxItems", { about: "array", compat: "ceiling", types: "comment", ...checked }],
  ["uniqueItems", { about: "array", compat: "whole", types: "comment", ...checked }],
  ["minProperties", { about: "object", compat: "floor", types: "comment", ...checked }],
  ["maxProperties", { about: "object", compat: "ceiling", types: "comment", ...checked }],
  ["contains", { about: "array", compat: "whole", types: "none", ...checked }],
  ["minContains", { about: "array", compat: "floor", types: "none", ...implied }],
  ["maxContains", { about: "array", compat: "ceiling", types: "none", ...implied }],
  ["propertyNames dependentRequired", { about: "object", compat: "whole", types: "none", ...checked }],
  ["dependentSchemas unevaluatedProperties", { about: "object", compat: "whole", types: "none", ...implied }],
  ["unevaluatedItems", { about: "array", compat: "whole", types: "none", ...implied }],
  ["not", { compat: "whole", types: "none", ...checked }],
  ["if then else", { compat: "whole", types: "none", ...implied }],
  ["contentEncoding contentMediaType", { ...prose, about: "string", compat: "whole" }],
  ["contentSchema", { ...prose, compat: "whole" }],
  ["title", { ...prose, compat: "inside", types: "type" }],
  ["description deprecated", { ...prose, types: "comment" }],
  ["examples readOnly writeOnly $comment $schema discriminator", prose],
  ["$defs definitions $anchor", { ...prose, compat: "loaded" }],
];

/** Every keyword that a contract's schemas may have, beside those that begin with `x-`. */
export const KEYWORDS: Readonly<Record<string, Keyword>> = Object.fromEntries(
  rows.flatMap(([names, keyword]) => names.split(" ").map((name) => [name, keyword])),
);

/** The keywords of a column's value, in the order of the table. */
export const keywordsOf = (matches: (keyword: Keyword) => boolean): string[] =>
  Object.keys(KEYWORDS).filter((name) => matches(KEYWORDS[name]!));
