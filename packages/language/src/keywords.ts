/** How the tools treat one keyword of JSON Schema. A test holds each tool to its column. */
export interface Keyword {
  /** Lint: the type of the values that it is about; any without it. */
  readonly about?: "string" | "number" | "array" | "object";
  /**
   * Compat: compared by the values that it allows; reported as unclear, because nobody checks it; a type's name; a default; nothing, because it
   * is prose, or because loading removes it.
   */
  readonly compat: "values" | "unclear" | "title" | "default" | "prose" | "loaded";
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
  ["properties", { about: "object", compat: "values", types: "type", ...implied }],
  ["required", { about: "object", compat: "values", types: "type", ...checked }],
  ["items", { about: "array", compat: "values", types: "type", ...implied }],
  ["$ref allOf", { compat: "values", types: "type", ...implied }],
  ["anyOf oneOf", { compat: "values", types: "type", ...checked }],
  ["prefixItems", { about: "array", compat: "values", types: "type", ...implied }],
  ["patternProperties", { about: "object", compat: "values", types: "type", ...implied }],
  ["additionalProperties", { about: "object", compat: "values", types: "type", ...checked }],
  ["format", { compat: "values", types: "comment", ...checked }],
  ["default", { ...prose, compat: "default", types: "comment" }],
  ["minimum exclusiveMinimum", { about: "number", compat: "values", types: "comment", ...checked }],
  ["maximum exclusiveMaximum", { about: "number", compat: "values", types: "comment", ...checked }],
  ["multipleOf", { about: "number", compat: "values", types: "comment", ...checked }],
  ["minLength", { about: "string", compat: "values", types: "comment", ...checked }],
  ["maxLength", { about: "string", compat: "values", types: "comment", ...checked }],
  ["pattern", { about: "string", compat: "values", types: "comment", ...checked }],
  ["minItems", { about: "array", compat: "values", types: "comment", ...checked }],
  ["maxItems", { about: "array", compat: "values", types: "comment", ...checked }],
  ["uniqueItems", { about: "array", compat: "values", types: "comment", ...checked }],
  ["minProperties", { about: "object", compat: "values", types: "comment", ...checked }],
  ["maxProperties", { about: "object", compat: "values", types: "comment", ...checked }],
  ["contains", { about: "array", compat: "values", types: "none", ...checked }],
  ["minContains", { about: "array", compat: "values", types: "none", ...implied }],
  ["maxContains", { about: "array", compat: "values", types: "none", ...implied }],
  ["propertyNames dependentRequired", { about: "object", compat: "values", types: "none", ...checked }],
  ["dependentSchemas unevaluatedProperties", { about: "object", compat: "values", types: "none", ...implied }],
  ["unevaluatedItems", { about: "array", compat: "values", types: "none", ...implied }],
  ["not", { compat: "values", types: "none", ...checked }],
  ["if then else", { compat: "values", types: "none", ...implied }],
  ["contentEncoding contentMediaType", { ...prose, about: "string", compat: "unclear" }],
  ["contentSchema", { ...prose, compat: "unclear" }],
  ["title", { ...prose, compat: "title", types: "type" }],
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
