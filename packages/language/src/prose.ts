import type { Contract, SchemaName, SchemaObject } from "@parlance/wire";
import { members } from "./schema.js";
import { type Source, secretsOf } from "./source.js";
import { absences } from "./when.js";

/**
 * Returns the parts of `contract.json` that a runtime needs, with schemas named by title instead of by file. Titles,
 * summaries, descriptions, examples and the constraints of parameters stay behind in the source.
 */
export function withoutProse(
  source: Source,
  title: (file: SchemaName) => SchemaName,
  schemas: readonly SchemaObject[] = [],
): Contract {
  const { names: secrets } = secretsOf(source, schemas);
  const byTitle = Object.fromEntries(schemas.map((schema) => [schema.title!, schema]));
  const absent = absences(source.operations ?? {}, (file) => {
    const schema = byTitle[title(file)];
    return schema && members({ schemas: byTitle }, schema);
  });
  return pick({
    ...source,
    $schema: undefined,
    title: undefined,
    type: undefined,
    description: undefined,
    version: undefined,
    imported: undefined,
    formats: undefined,
    faults: undefined,
    auth: source.auth && documented(source.auth),
    headers: carriesHeaders(source) || undefined,
    secrets: secrets.length > 0 ? secrets : undefined,
    methods: each(source.methods, (method) => ({
      ...documented(method),
      params: method.params && title(method.params),
      result: method.result && title(method.result),
    })),
    errors: each(source.errors, documented),
    messages: each(source.messages, (message) => ({ ...message, schema: title(message.schema) })),
    operations: each(source.operations, (operation, name) => ({
      ...documented(operation),
      absent: absent.get(name)?.length ? absent.get(name) : undefined,
      parameters: parameters(operation.parameters),
      body: operation.body && title(operation.body),
      transfer:
        (operation.binary ??
          operation.answer?.binary ??
          operation.answer?.headers ??
          operation.answer?.none ??
          operation.answer?.stream?.lines ??
          operation.answer?.stream?.rejoin) !== undefined || undefined,
      answer: operation.answer && {
        ...documented(operation.answer),
        json: operation.answer.json && title(operation.answer.json),
        headers: each(operation.answer.headers, ({ type, required, enum: values }) => ({
          type,
          required,
          enum: values?.length === 1 ? values : undefined,
        })),
      },
      faults: faultsOf(source.faults, operation.faults),
    })),
    channels: each(source.channels, (channel) => ({
      ...documented(channel),
      parameters: parameters(channel.parameters),
    })),
    exchanges: source.exchanges?.map((exchange: Source) => ({
      ...documented(exchange),
      answers: exchange.answers?.map(documented),
    })),
    reading: source.reading?.map(documented),
    fault: source.fault && {
      ...source.fault,
      schema: title(source.fault.schema),
      codes: each(source.fault.codes, documented),
    },
    retry: source.retry && { waits: source.retry.waits },
  }) as Contract;
}

function carriesHeaders({ auth, operations = {} }: Source): boolean {
  const parameters = Object.values<Source>(operations).flatMap((one) => Object.values<Source>(one.parameters ?? {}));
  return auth?.header !== undefined || parameters.some(({ in: place }) => place === "header" || place === "cookie");
}

const documented = (value: Source) => ({ ...value, summary: undefined, description: undefined, examples: undefined });

const parameters = (value: Source | undefined) =>
  each(value, (parameter) => ({ in: parameter.in, type: parameter.type, required: parameter.required }));

/** An operation's refusals, with those of the whole contract that are plain text. The runtime needs the form; the other statuses only tools read. */
function faultsOf(common: Source = {}, own?: Source): Source | undefined {
  const texts = Object.entries(common).filter(([, fault]) => fault?.text);
  return texts.length === 0 ? each(own, documented) : each({ ...Object.fromEntries(texts), ...own }, documented);
}

function each(record: Source | undefined, change: (value: Source, name: string) => unknown): Source | undefined {
  return record && Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
}

/** Removes every `undefined`, so that equal contracts compare and print alike. */
const pick = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
