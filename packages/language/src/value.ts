import type { Check, Checks, ContractDocument, ContractValue, Reads, Schema, SchemaObject, Side } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import { serverExamples } from "./examples.js";
import { FORMATS } from "./formats.js";
import { resultsFor } from "./methods.js";
import { prefixesOf } from "./prefix.js";
import { readsOf } from "./reads.js";
import { commonFaults, headersSchema, inputSchema } from "./schema.js";
import { declaredFormats } from "./source.js";
import { tolerantly } from "./tolerance.js";
import { elsewhere } from "./walk.js";

/** A contract loaded at run time: the compiler does not know its types. */
// biome-ignore lint/suspicious/noExplicitAny: the interfaces are those of a contract that was read at run time
export type LoadedContract = ContractValue<any, any>;

/**
 * A loaded contract as the value that `connect` and `serve` take, with checks compiled by ajv: for tools that work from a folder of
 * schemas. A program imports the generated value, which needs no ajv.
 */
export function contractValue(document: ContractDocument): LoadedContract {
  const { compile, fits } = compiler(document);
  const lazily = (side: Side) => checksOf(compile, forms(document, side));
  const readsBy = (side: Side): Reads => ({
    ...readsOf(document.contract, side),
    tolerant: tolerantly(forms(document, side), document.schemas, fits),
  });
  let accepts: Checks | undefined;
  const { reading, ...contract } = document.contract;
  const prefixes = prefixesOf(contract);
  return {
    ...contract,
    ...(prefixes.length > 0 && {
      prefixed: (tag, messages) =>
        typeof tag === "string"
          ? prefixes.find((one) => messages.has(one) && tag.startsWith(one.slice(0, -1)))
          : undefined,
    }),
    checks: lazily("server"),
    reads: readsBy("server"),
    accepts: async () => {
      accepts ??= lazily("client");
      return {
        checks: accepts,
        reads: readsBy("client"),
        faults: commonFaults(document),
        examples: async () => ({ examples: serverExamples(document, forms(document, "server")) }),
      };
    },
  };
}

function compiler(document: ContractDocument) {
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    messages: false,
    inlineRefs: false,
    logger: false,
    ownProperties: true,
  });
  for (const [name, format] of FORMATS) ajv.addFormat(name, format);
  for (const [name, format] of declaredFormats(document.source)) ajv.addFormat(name, format);
  for (const schema of Object.values(document.schemas)) ajv.addSchema(schema);
  const compile = (schema: SchemaObject) => (ajv.getSchema(schema.$id as string) ?? ajv.compile(schema)) as Check;
  const known = new Map<Schema, Check>();
  /** The check of a schema inside another. */
  const fits = ([schema, base]: readonly [Schema, string]): Check => {
    const check = known.get(schema) ?? (ajv.compile(withoutId(elsewhere(schema, base))) as Check);
    known.set(schema, check);
    return check;
  };
  return { compile, fits };
}

/** ajv has the schema under its id already. */
const withoutId = (schema: Schema): Schema & object => {
  if (typeof schema === "boolean") return { not: !schema };
  const { $id, ...rest } = schema;
  return rest;
};

/** The schemas of what one side writes. */
function forms({ contract, ...document }: ContractDocument, side: Side): SchemaObject[] {
  const whole = { contract, ...document };
  const calls = { ...contract.operations, ...contract.channels };
  const results = resultsFor(whole, side).map((title) => document.schemas[title]!);
  const carried = Object.values(contract.channels).flatMap((channel) => channel[side]);
  if (side === "client") {
    const inputs = Object.entries(calls).filter(
      ([, { parameters, ...call }]) => parameters ?? ("body" in call && call.body),
    );
    return [...inputs.map(([name]) => inputSchema(whole, name)), ...results, ...schemasOf(whole, carried)];
  }
  const answers = Object.values(contract.operations).map(({ answer }) => answer);
  const titles = [contract.fault.schema, ...answers.flatMap(({ json }) => json ?? [])];
  const headers = Object.keys(contract.operations).flatMap((name) => headersSchema(whole, name) ?? []);
  const messages = schemasOf(whole, [...carried, ...answers.flatMap(({ stream }) => stream?.messages ?? [])]);
  return [...titles.map((title) => document.schemas[title]!), ...headers, ...results, ...messages];
}

function schemasOf({ contract, schemas }: ContractDocument, messages: readonly string[]): SchemaObject[] {
  return [...new Set(messages)].map((name) => schemas[contract.messages[name]!.schema]!);
}

/** Compiles a check on first use. */
function checksOf(compile: (schema: SchemaObject) => Check, schemas: readonly SchemaObject[]): Checks {
  const entries = schemas.map((schema) => {
    let compiled: Check | undefined;
    const check: Check = (data) => {
      compiled ??= compile(schema);
      const fits = compiled(data);
      check.errors = compiled.errors;
      return fits;
    };
    return [schema.title!, check] as const;
  });
  return Object.fromEntries(entries);
}
