import type { ContractDocument, Examples, Json, SchemaObject } from "@parlance/contract";

/**
 * One example of each form that the server writes: of schemas by title, of texts by operation. It is the first that is not an empty
 * list, because an empty one tests nothing.
 */
export function serverExamples(document: ContractDocument, forms: readonly SchemaObject[]): Examples {
  const schemas = forms.flatMap(({ title, examples }) =>
    examples?.length ? [[title!, examples.find((one) => !isEmpty(one)) ?? examples[0]!] as const] : [],
  );
  const operations = document.source.operations as Readonly<
    Record<string, { readonly answer?: { readonly examples?: readonly string[] } }>
  >;
  const texts = Object.entries(operations).flatMap(([name, { answer }]) =>
    answer?.examples?.length ? [[name, answer.examples[0]!] as const] : [],
  );
  return { schemas: Object.fromEntries(schemas), texts: Object.fromEntries(texts) };
}

function isEmpty(example: Json): boolean {
  return Array.isArray(example) && example.length === 0;
}
