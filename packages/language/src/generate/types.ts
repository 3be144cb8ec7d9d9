import type { ContractDocument, Schema, SchemaObject } from "@parlance/wire";
import {
  answerHeaders,
  generatedNames,
  inputs,
  locate,
  memorySchema,
  namesType,
  pascal,
  tagProperties,
} from "../schema.js";
import { subschemas } from "../walk.js";
import { codeSchemas, codeType } from "./codes.js";
import { type Context, expression, linesOf, type Type } from "./expression.js";
import { comment, union } from "./literal.js";
import { declares, GenerateError } from "./names.js";

/** A type of the generated file; its text is set once its schema has been read. */
interface Declared {
  readonly name: string;
  text?: string;
}

/**
 * The types of all messages, inputs and answers, in the order of first use. A schema that many others refer to is
 * one type; one without a title is written where it is used, unless it refers to itself.
 */
export function types(document: ContractDocument): string {
  const { contract } = document;
  const messages = Object.entries(contract.messages);
  const forms: Record<string, SchemaObject> = { ...document.schemas };
  for (const [name, { schema }] of messages) forms[schema] = memorySchema(document, name);
  const others = [...inputs(document), ...answerHeaders(document)];
  for (const one of others) forms[one.title!] = one;
  const written = new Writer(document, forms);
  for (const title of [
    ...messages.map(([, { schema }]) => schema),
    ...others.map(({ title }) => title!),
    ...Object.values(contract.operations).flatMap(({ answer }) => answer.json ?? []),
    contract.fault.schema,
  ])
    written.root(title);
  return written.text();
}

class Writer {
  readonly #declared = new Map<string, Declared>();
  readonly #bySchema = new Map<Schema, Declared>();
  readonly #taken: Set<string>;
  readonly #document: ContractDocument;
  readonly #forms: Readonly<Record<string, SchemaObject>>;
  readonly #codes: ReadonlySet<Schema>;

  constructor(document: ContractDocument, forms: Readonly<Record<string, SchemaObject>>) {
    this.#document = document;
    this.#forms = forms;
    this.#codes = codeSchemas(document);
    this.#taken = new Set([...Object.keys(forms), ...[...generatedNames(document)].map(([name]) => name)]);
  }

  /** Declares the schema of a file, or an input. */
  root(title: string): Type {
    if (!this.#declared.has(title)) this.#write(title, this.#forms[title]!, String(this.#forms[title]!.$id));
    return [title];
  }

  /** Aliases first, each on its line; then interfaces. */
  text(): string {
    const texts = [...this.#declared.values()].map(({ text }) => text!);
    const isInterface = (text: string) => /^(?:\/\*\*[\s\S]*?\*\/\n)?export interface /.test(text);
    const aliases = texts.filter((text) => !isInterface(text)).join("\n");
    return [aliases, ...texts.filter(isInterface)].filter(Boolean).join("\n\n");
  }

  #write(name: string, schema: Schema, base: string): Declared {
    const one: Declared = { name };
    this.#declared.set(name, one);
    this.#bySchema.set(schema, one);
    one.text = this.#declaration(name, schema, base);
    return one;
  }

  #declaration(name: string, schema: Schema, base: string): string {
    const type = expression(schema, this.#context(base, ""));
    const [only] = type;
    const prose = comment(linesOf(schema));
    if (type.length === 1 && only!.startsWith("{\n")) return `${prose}export interface ${name} ${only}`;
    return prose + union(name, type.length === 0 ? ["never"] : type);
  }

  #context(base: string, indent: string): Context {
    return {
      indent,
      bare: declares(this.#document, "Record") ? "{ [k: string]: unknown }" : "Record<string, unknown>",
      find: (ref) => {
        const found = locate(this.#document, base, ref);
        return found && { schema: found.schema, context: this.#context(this.#idOf(found.title), indent) };
      },
      refer: (ref, { indent }) => this.#refer(ref, base, indent),
      declare: (schema) => this.#inner(schema, base),
      known: (schema) => (this.#codes.has(schema) ? codeType(this.#document) : undefined),
    };
  }

  #idOf(title: string): string {
    return String(this.#document.schemas[title]!.$id);
  }

  #titleOf(id: string) {
    return Object.keys(this.#forms).find((title) => this.#forms[title]!.$id === id) ?? id;
  }

  #refer(ref: string, base: string, indent: string): Type {
    const found = locate(this.#document, base, ref);
    const refuse = (message: string) => {
      throw new GenerateError(this.#document.contract.name, `${this.#titleOf(base)} ${message}`);
    };
    if (found === undefined) return refuse(`refers to ${ref}, which does not exist`);
    const message = otherForm(this.#document, found.title);
    if (found.pointer === "" && message !== undefined)
      return refuse(
        `refers to the message ${message} (${found.title}), which has another type in memory, without its tag; move the shared part to a schema of its own`,
      );
    if (found.pointer === "") return this.root(found.title);
    const id = this.#idOf(found.title);
    const name = this.#inner(found.schema, id) ?? this.#ofItself(found, id);
    return name === undefined ? expression(found.schema, this.#context(id, indent)) : [name];
  }

  /** A schema inside another that has a type of its own, by its title. */
  #inner(schema: Schema, base: string): string | undefined {
    const known = this.#bySchema.get(schema);
    if (known !== undefined) return known.name;
    if (typeof schema === "boolean" || !namesType(schema)) return undefined;
    const name = schema.title!;
    const other = this.#declared.get(name);
    if (other === undefined && !this.#taken.has(name)) return this.#write(name, schema, base).name;
    const same = other && (other.text === undefined || other.text === this.#declaration(name, schema, base));
    if (!same)
      throw new GenerateError(
        this.#document.contract.name,
        `two different types would be named ${name}: a schema inside another has the title of a third`,
      );
    this.#bySchema.set(schema, other);
    return name;
  }

  /** A schema without a title that refers to itself gets a name from its place. */
  #ofItself({ title, pointer, schema }: { title: string; pointer: string; schema: Schema }, base: string) {
    if (!reaches(this.#document, schema, base, schema, new Set())) return undefined;
    let name = title + pascal(pointer.split("/").at(-1)!).replace(/[^A-Za-z0-9]/g, "");
    while (this.#taken.has(name) || this.#declared.has(name)) name += "Part";
    return this.#write(name, schema, base).name;
  }
}

/** Whether the references in a schema lead to another. */
function reaches(document: ContractDocument, from: Schema, base: string, to: Schema, seen: Set<Schema>): boolean {
  for (const { schema } of subschemas(from)) {
    if (typeof schema.$ref !== "string") continue;
    const found = locate(document, base, schema.$ref);
    if (found === undefined) continue;
    if (found.schema === to) return true;
    if (seen.has(found.schema)) continue;
    seen.add(found.schema);
    if (reaches(document, found.schema, String(document.schemas[found.title]!.$id), to, seen)) return true;
  }
  return false;
}

/** The message of this schema, if its form in memory differs from the wire: one type cannot be both. */
function otherForm({ contract }: ContractDocument, title: string): string | undefined {
  for (const [name, message] of Object.entries(contract.messages)) {
    if (message.schema !== title) continue;
    const [property, ...others] = tagProperties(contract.tag, message);
    const said = message.shape?.const?.[property!] ?? name;
    if (property !== "type" || others.length > 0 || said !== name) return name;
  }
  return undefined;
}
