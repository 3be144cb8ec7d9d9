import { branded } from "@parlance/wire/errors";
import { isObject } from "@parlance/wire/json";
import type { Finding } from "./finding.js";
import type { ContractFolder } from "./folder.js";
import { FORMATS } from "./formats.js";
import { Files, type Note } from "./import/files.js";
import { ofSchema, type Spoken, separate } from "./import/messages.js";
import { type Described, describe } from "./import/openapi.js";
import { type Draft, repaired } from "./import/repair.js";
import { methodsOf } from "./import/rpc.js";
import { syntaxFault } from "./json.js";
import { generatedNames } from "./schema.js";
import type { Source } from "./source.js";
import { subschemas } from "./walk.js";

export type { Note } from "./import/files.js";

export interface ImportOptions {
  /** The contract's name, and its folder's. */
  readonly name: string;
  /** Where the document is from, for `imported` of contract.json. */
  readonly origin: string;
  /** Copies descriptions, summaries and examples too. They are their authors' work. */
  readonly prose?: boolean | undefined;
}

export interface Imported {
  /** The files of the contract's folder. */
  readonly files: ContractFolder["files"];
  /** The parts of the document that the contract leaves out, by their place in the document. */
  readonly notes: readonly Note[];
  /** Lint's findings in the contract. */
  readonly findings: readonly Finding[];
}

/** The text is nothing that a contract can be made of. */
export class ImportError extends Error {
  static {
    branded(ImportError, "ImportError");
  }

  readonly code = "not_imported";
}

/**
 * Makes a contract from a document of others: OpenAPI 3, or JSON Schema of any draft from 04. A schema describes methods of JSON-RPC, a union of
 * messages, or definitions.
 * @throws `ImportError` for anything else
 */
export async function importContract(text: string, options: ImportOptions): Promise<Imported> {
  const source = meet(parsed(text));
  const { name, origin, prose = false } = options;
  const files = new Files(source, { aloneRefs: hasAloneRefs(source), prose, taken: takenBy(source, name) });
  const parts = "openapi" in source ? ofOpenApi(files, prose) : ofJsonSchema(files, name);
  files.write();
  if (parts.spoken) separate(files, parts.spoken);
  const about = (isObject(source.info) ? source.info : source) as Source;
  const contract: Record<string, unknown> = {
    $schema: "../contract.schema.json",
    format: parts.contract.methods ? 2 : 1,
    name,
    title: textOf(about.title) ?? name,
    ...(prose && textOf(about.description) !== undefined && { description: about.description }),
    ...(textOf(about.version) !== undefined && { version: about.version }),
    imported: origin,
    url: "http://localhost:8080",
    ...parts.contract,
  };
  const draft = { contract, schemas: files.schemas };
  const { repairs, findings } = await repaired(draft, (one) => folderOf(name, one));
  if (parts.contract.methods === undefined && Object.keys(contract.operations as object).length === 0)
    throw new ImportError(`has nothing that a contract can have${reasons([...files.notes, ...repairs])}`);
  const left = repairs.map(({ file, pointer, message }) => ({
    pointer: `${file}#${pointer}`,
    message: `is left out: ${message}`,
  }));
  return { files: folderOf(name, draft).files, notes: [...files.notes, ...left], findings };
}

const textOf = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const { line, column, message } = syntaxFault(text);
    throw new ImportError(`is not JSON: line ${line}, column ${column}: ${message}; convert YAML to JSON first`);
  }
}

function folderOf(name: string, { contract, schemas }: Draft): ContractFolder {
  const formats = formatsOf(schemas);
  const whole = { ...contract, ...(Object.keys(formats).length > 0 && { formats }) };
  const values = Object.entries({ "contract.json": whole, ...schemas });
  const texts = values.map(([file, value]) => [file, `${JSON.stringify(value, null, 2)}\n`]);
  return { name, files: Object.fromEntries(texts) };
}

function meet(document: unknown): Source {
  if (!isObject(document)) throw new ImportError("is no JSON object: a JSON Schema or an OpenAPI 3 document is one");
  const { openapi, swagger, asyncapi } = document as Source;
  if (typeof swagger === "string") throw new ImportError(`is OpenAPI ${swagger}; convert it to OpenAPI 3 first`);
  if (typeof asyncapi === "string") throw new ImportError("is AsyncAPI; import the JSON Schema of its messages");
  if (openapi !== undefined && !/^3\./.test(String(openapi)))
    throw new ImportError(`is OpenAPI ${openapi}; there is an importer for 3.0 and 3.1`);
  const isSchema = [
    "$schema",
    "$id",
    "type",
    "properties",
    "definitions",
    "$defs",
    "oneOf",
    "anyOf",
    "allOf",
    "$ref",
  ].some((key) => key in document);
  if (openapi === undefined && !isSchema)
    throw new ImportError('is neither JSON Schema nor OpenAPI 3: it has no "openapi", and no keyword of a schema');
  return document as Source;
}

/** Before draft 2019-09, and in OpenAPI 3.0, keywords beside a `$ref` have no meaning. */
function hasAloneRefs({ $schema, openapi, $defs }: Source): boolean {
  if (openapi !== undefined) return /^3\.0/.test(String(openapi));
  return typeof $schema === "string" ? /draft-0[3-7]/.test($schema) : $defs === undefined;
}

/** Titles that the generated file needs for itself. */
function takenBy(source: Source, name: string): string[] {
  const operations = Object.values((source.paths ?? {}) as Source).flatMap((item) => Object.values<Source>(item ?? {}));
  const ids = operations.flatMap((one) => (typeof one?.operationId === "string" ? [one.operationId] : []));
  const calls = Object.fromEntries(
    ["receive", "rpc", ...ids].map((id) => [id, { answer: { stream: {}, headers: {} } }]),
  );
  const contract = { name, operations: calls, channels: {}, fault: { codes: {} }, methods: {}, session: "" };
  const words = [
    "Array",
    "Boolean",
    "Date",
    "Error",
    "Function",
    "Map",
    "Number",
    "Object",
    "Omit",
    "Promise",
    "Record",
    "Set",
    "String",
    "Symbol",
  ];
  return [...[...generatedNames({ contract, source: {} } as never)].map(([one]) => one), ...words];
}

interface Parts {
  readonly contract: Source;
  readonly spoken?: Spoken;
}

function ofOpenApi(files: Files, prose: boolean): Parts {
  const { spoken, operations, ...rest }: Described = describe(files, prose);
  if (Object.keys(operations).length === 0)
    throw new ImportError(`has no operation that a contract can have${reasons(files.notes)}`);
  const { tag, messages } = spoken;
  return { spoken, contract: { ...rest, tag, messages, operations, channels: {}, fault: plainFault(files) } };
}

const reasons = (notes: readonly Note[]) =>
  notes
    .slice(0, 5)
    .map(({ pointer, message }) => `; ${pointer} ${message}`)
    .join("");

function ofJsonSchema(files: Files, name: string): Parts {
  const methods = methodsOf(files);
  if (methods !== undefined) {
    const channel = { path: "/rpc", carriers: ["stdio", "websocket"], summary: `Talk ${name}.` };
    return { contract: { rpc: { version: "2.0" }, methods, channels: { rpc: channel } } };
  }
  const spoken = ofSchema(files);
  const { tag, messages } = spoken;
  if (Object.keys(messages).length === 0) throw new ImportError("has no schema of an object, and a message is one");
  const stream = {
    method: "GET",
    path: "/messages",
    summary: "Receive messages.",
    answer: { status: 200, stream: { messages: Object.keys(messages) } },
  };
  return {
    spoken,
    contract: { tag, messages, operations: { receive: stream }, channels: {}, fault: plainFault(files) },
  };
}

const plainFault = (files: Files) => ({
  schema: files.add("FaultBody", { type: "object", required: ["error"], properties: { error: { type: "string" } } }),
  text: ["/error"],
});

function formatsOf(schemas: Readonly<Record<string, Source>>): Record<string, Source> {
  const names = Object.values(schemas).flatMap((root) =>
    subschemas(root as never).flatMap(({ schema }) => (typeof schema.format === "string" ? schema.format : [])),
  );
  const own = [...new Set(names)].filter((name) => !FORMATS.has(name)).sort();
  return Object.fromEntries(own.map((name) => [name, { description: `The format ${name} of the document.` }]));
}
