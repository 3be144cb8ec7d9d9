/**
 * Formats that are known but not checked: internationalised names, and OpenAPI's numbers
 * and bytes. A format is an annotation in 2020-12, so they pass any value.
 */
export const uncheckedFormats =
  "idn-email idn-hostname iri iri-reference regex int32 int64 float double byte binary password".split(" ");

/** The formats that a contract declares itself; one without a pattern is an annotation. */
export function declaredFormats(source: Source): ReadonlyMap<string, RegExp | true> {
  const entries = Object.entries<Source>(source.formats ?? {}).map(([name, { pattern }]): [string, RegExp | true] => [
    name,
    typeof pattern === "string" ? new RegExp(pattern, "u") : true,
  ]);
  return new Map(entries);
}

/** `contract.json` as parsed. The meta-schema checks its form, so no property is assumed to be there. */
// biome-ignore lint/suspicious/noExplicitAny: this is what JSON.parse gives; the meta-schema is checked by lint
export type Source = Readonly<Record<string, any>>;
