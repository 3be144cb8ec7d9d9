import type { ContractDocument, Schema, SchemaObject } from "@parlance/wire";
import { parseFragment } from "@parlance/wire/internal/pointer";
import { tagType } from "../prefix.js";
import {
  answerHeaders,
  generatedNames,
  inputs,
  type Located,
  locate,
  memorySchema,
  namesType,
  tagProperties,
  textOf,
} from "../schema.js";
import { subschemas } from "../walk.js";
import { codeSchemas, codeType } from "./codes.js";
import { alone, type Context, expression, type Type } from "./expression.js";
import { linesOf } from "./jsdoc.js";
import { comment, union } from "./literal.js";
import { GenerateError, type Names } from "./names.js";

/** The types of all messages, inputs and answers. Each schema that others refer to is one of them. */
export function types(document: ContractDocument, names: Names): string {
  const { contract } = document;
  const messages = Object.entries(contract.messages);
  const forms: Record<string, SchemaObject> = { ...document.schemas };
  const tags = new Map<unknown, Type>();
  for (const [name, { schema }] of messages) {
    forms[schema] = memorySchema(document, name);
    const type = tagType(contract, name);
    if (type !== undefined) tags.set((forms[schema].properties as { readonly type: Schema }).type, [type]);
  }
  const others = [...inputs(document), ...answerHeaders(document)];
  for (const one of others) forms[one.title!] = one;
  const writer = new Writer(document, forms, tags, names);
  for (const title of [
    ...messages.map(([, { schema }]) => schema),
    ...others.map(({ title }) => title!),
    ...Object.values(contract.operations).flatMap(({ answer }) => answer.json ?? []),
    ...Object.values(contract.methods ?? {}).flatMap(({ result }) => result ?? []),
    contract.fault.schema,
  ])
    writer.root(title);
  return writer.text();
}

/** A schema with a name, and the id that its references count from. */
interface Named {
  readonly name: string;
  readonly schema: Schema;
  readonly base: string;
}

class Writer {
  readonly #document: ContractDocument;
  readonly #forms: Readonly<Record<string, SchemaObject>>;
  /** Types that a schema cannot have: of names that are prefixes. */
  readonly #tags: ReadonlyMap<unknown, Type>;
  readonly #names: Names;
  readonly #codes: ReadonlySet<Schema>;
  /** The schemas inside others that a `$ref` leads to: each has a name, where it stands too. */
  readonly #targets: ReadonlyMap<Schema, Located>;
  readonly #named = new Map<Schema, string>();
  /** Schemas that are named and not yet written: a stack, because a chain of references can be longer than the call stack. */
  readonly #pending: Named[] = [];
  /** The declarations by name, in the order of first use. */
  readonly #texts = new Map<string, string>();
  /** Owners of titles: a file, an input or the contract's own type (an empty text), or an inner schema. */
  readonly #titles: Map<string, string>;

  constructor(
    document: ContractDocument,
    forms: Readonly<Record<string, SchemaObject>>,
    tags: ReadonlyMap<unknown, Type>,
    names: Names,
  ) {
    this.#document = document;
    this.#forms = forms;
    this.#tags = tags;
    this.#names = names;
    this.#codes = codeSchemas(document);
    this.#targets = targetsOf(document);
    const fixed = [...Object.keys(forms), ...[...generatedNames(document)].map(([name]) => name)];
    this.#titles = new Map(fixed.map((title) => [title, ""]));
  }

  /** Writes the schema of a file, or an input, and then all that it leads to. */
  root(title: string): void {
    this.#refer(title);
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      const before = this.#pending.length;
      this.#texts.set(next.name, this.#declaration(next));
      // The first one that a type names is the next one to be written.
      this.#pending.push(...this.#pending.splice(before).reverse());
    }
  }

  /** Aliases first, each on its line; then objects. */
  text(): string {
    const texts = [...this.#texts.values()];
    const isObject = (text: string) => /^(?:\/\*\*[\s\S]*?\*\/\n)?export (?:interface \w+|type \w+ =) \{\n/.test(text);
    const aliases = texts.filter((text) => !isObject(text)).join("\n");
    return [aliases, ...texts.filter(isObject)].filter(Boolean).join("\n\n");
  }

  #refuse(message: string): never {
    throw new GenerateError(this.#document.contract.name, message);
  }

  #declaration({ name, schema, base }: Named): string {
    const type = expression(schema, this.#context(base));
    const [only] = type;
    const prose = comment(linesOf(schema));
    if (type.length === 1 && only!.startsWith("{\n")) return `${prose}export interface ${name} ${only}`;
    return prose + union(name, type.length === 0 ? ["never"] : alone(type));
  }

  #context(base: string): Context {
    return {
      indent: "",
      bare: this.#names.has("Record") ? "{ [k: string]: unknown }" : "Record<string, unknown>",
      find: (ref) => {
        const found = locate(this.#document, base, ref);
        return found && { schema: found.schema, context: this.#context(this.#idOf(found.title)) };
      },
      refer: (ref) => this.#typeOf(ref, base),
      declared: (schema) => {
        const tag = this.#tags.get(schema);
        if (tag !== undefined) return tag;
        if (this.#codes.has(schema)) return codeType(this.#document);
        const name = this.#nameOf(schema, base);
        return name === undefined ? undefined : [name];
      },
    };
  }

  #idOf(title: string): string {
    return String(this.#document.schemas[title]!.$id);
  }

  #typeOf(ref: string, base: string): Type {
    const found = locate(this.#document, base, ref);
    const from = () => Object.keys(this.#forms).find((title) => this.#forms[title]!.$id === base) ?? base;
    if (found === undefined) return this.#refuse(`${from()} refers to ${ref}, which does not exist`);
    if (typeof found.schema === "boolean") return found.schema ? ["unknown"] : [];
    if (found.pointer !== "") {
      const name = this.#nameOf(found.schema, this.#idOf(found.title));
      return name === undefined ? expression(found.schema, this.#context(this.#idOf(found.title))) : [name];
    }
    const message = otherForm(this.#document, found.title);
    if (message !== undefined)
      return this.#refuse(
        `${from()} refers to the message ${message} (${found.title}), which has another type in memory, without its tag; move the shared part to a schema of its own`,
      );
    return [this.#refer(found.title)];
  }

  /** The name of a file's schema, or of an input. */
  #refer(title: string): string {
    const schema = this.#forms[title]!;
    return this.#named.get(schema) ?? this.#declare({ name: title, schema, base: String(schema.$id) });
  }

  /** The name of a schema inside another: its title, or a name from its place where a `$ref` leads to it. */
  #nameOf(schema: Schema, base: string): string | undefined {
    if (typeof schema === "boolean") return undefined;
    const known = this.#named.get(schema);
    if (known !== undefined) return known;
    if (namesType(schema)) {
      const title = schema.title!;
      const text = textOf(this.#document, base, schema);
      const first = this.#titles.get(title);
      this.#titles.set(title, first ?? text);
      if (first === undefined) return this.#declare({ name: title, schema, base });
      // Equal schemas are one type. Another with the title of a third is as one without a title.
      if (first === text) return title;
    }
    const target = this.#targets.get(schema);
    if (target === undefined) return undefined;
    return this.#declare({ name: this.#names.take(target.title, parseFragment(target.pointer)), schema, base });
  }

  #declare(one: Named): string {
    this.#named.set(one.schema, one.name);
    this.#pending.push(one);
    return one.name;
  }
}

/** Targets of references other than whole files: definitions, and inner schemas whose type is more than a word such as `string`. */
function targetsOf(document: ContractDocument): Map<Schema, Located> {
  const targets = new Map<Schema, Located>();
  for (const root of Object.values(document.schemas))
    for (const { schema } of subschemas(root)) {
      const found = typeof schema.$ref === "string" ? locate(document, String(root.$id), schema.$ref) : undefined;
      if (found !== undefined && found.pointer !== "" && (isDefinition(found) || isCompound(found.schema)))
        targets.set(found.schema, found);
    }
  return targets;
}

const isDefinition = ({ pointer }: Located) => ["$defs", "definitions"].includes(pointer.split("/").at(-2)!);

const isCompound = (schema: Schema) =>
  subschemas(schema).length > 1 || (typeof schema === "object" && "enum" in schema);

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
