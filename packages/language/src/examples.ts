import type { ContractDocument, Examples, Json, SchemaObject } from "@parlance/wire";

/**
 * One example of each form that the server writes: of schemas by title, of texts by operation. It is the first that is not an empty
 * list, because an empty one tests nothing.
 */
export function serverExamples(document: ContractDocument, forms: readonly SchemaObject[]): Examples {
  const schemas = forms.flatMap(({ title, examples }) =>
    examples?.length ? [[title!, examples.find((one) => !isEmpty(one)) ?? examples[0]!] as const] : [],
  );
  const operations = document.source.operations as Readonly<
    Record<string, { readonly answer?: { readonly examples?: readonly string[]; readonly headers?: Headers } }>
  >;
  const texts = Object.entries(operations).flatMap(([name, { answer }]) =>
    answer?.examples?.length ? [[name, answer.examples[0]!] as const] : [],
  );
  const headers = Object.entries(operations).flatMap(([name, { answer }]) => {
    return answer?.headers
      ? [[`${name[0]!.toUpperCase()}${name.slice(1)}Headers`, headersExample(answer.headers)] as const]
      : [];
  });
  return { schemas: Object.fromEntries([...schemas, ...headers]), texts: Object.fromEntries(texts) };
}

type Headers = Readonly<
  Record<string, { readonly type: "string" | "integer" | "number" | "boolean"; readonly enum?: readonly Json[] }>
>;

const SAMPLES = { string: "example", integer: 1, number: 1, boolean: true } as const;

/** A value of each header of an answer. A contract has no examples of headers. */
function headersExample(headers: Headers): Json {
  return Object.fromEntries(
    Object.entries(headers).map(([name, { type, enum: all }]) => [name, all?.[0] ?? SAMPLES[type]]),
  );
}

function isEmpty(example: Json): boolean {
  return Array.isArray(example) && example.length === 0;
}
