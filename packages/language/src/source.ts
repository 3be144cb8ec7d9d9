/** `contract.json` as parsed. The meta-schema checks its form, so no property is assumed to be there. */
// biome-ignore lint/suspicious/noExplicitAny: this is what JSON.parse gives; the meta-schema is checked by lint
export type Source = Readonly<Record<string, any>>;
