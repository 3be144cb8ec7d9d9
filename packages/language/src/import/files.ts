import type { SchemaObject } from "@parlance/wire";
import { parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import { isObject } from "@parlance/wire/json";
import { pascal } from "../schema.js";
import type { Source } from "../source.js";
import { Identities, type Lookup } from "./identities.js";
import { constantsOf } from "./unions.js";
import { type Rewriting, upgraded } from "./upgrade.js";

/** Something of the document that a contract does not have, and its place. */
export interface Note {
  /** JSON Pointer into the document. */
  readonly pointer: string;
  readonly message: string;
}

/** Steps of a pointer that are no name of a thing. */
const places = new Set(
  (
    "$defs definitions components schemas properties items allOf anyOf oneOf content schema application/json paths responses " +
    "requestBody itemSchema text/event-stream prefixItems additionalProperties"
  ).split(" "),
);

/** The files of messages/ that a document gives: one for each schema that is asked for, and for each that those refer to. */
export class Files implements Lookup {
  readonly document: Source;
  readonly notes: Note[] = [];
  /** File → schema. */
  readonly schemas: Record<string, SchemaObject> = {};
  readonly #identities: Identities;
  readonly #rewriting: Rewriting;
  readonly #files = new Map<string, string>();
  readonly #waiting: string[] = [];
  readonly #titles: Set<string>;

  /** `taken` has the names that no schema may get as its title. */
  constructor(document: Source, options: { aloneRefs: boolean; prose: boolean; taken: Iterable<string> }) {
    this.document = document;
    this.#identities = new Identities(document);
    this.#titles = new Set([...options.taken].map((name) => name.toLowerCase()));
    this.#rewriting = {
      ...options,
      refer: (ref, pointer) => this.#refer(ref, pointer),
      isTold: (pointer, property) => property in constantsOf(this, pointer),
      note: (pointer, message) => this.note(pointer, message),
    };
  }

  note(pointer: string, message: string): void {
    if (!this.notes.some((one) => one.pointer === pointer && one.message === message))
      this.notes.push({ pointer, message });
  }

  /** The value at a pointer, or the one that a reference there leads to. */
  at(pointer: string): { readonly value: Source; readonly pointer: string } {
    let place = pointer;
    for (let hops = 0; hops < 32; hops++) {
      const value = valueAt(this.document, parsePointer(place)) as Source | undefined;
      const next = isObject(value) && typeof value.$ref === "string" ? this.resolve(value.$ref, place) : undefined;
      if (next === undefined || Object.keys(value!).some((key) => key === "properties" || key === "allOf"))
        return { value: isObject(value) ? (value as Source) : {}, pointer: place };
      place = next;
    }
    return { value: {}, pointer: place };
  }

  resolve(ref: string, from: string): string | undefined {
    return this.#identities.resolve(ref, from);
  }

  /** The file of the schema at a pointer. A definition has its own name, another schema the one given here. */
  of(pointer: string, name?: string): string {
    const known = this.#files.get(pointer);
    if (known !== undefined) return known;
    const file = this.#name(definitionOf(pointer) ?? name ?? nameOf(pointer, this.document));
    this.#files.set(pointer, file);
    this.#waiting.push(pointer);
    return file;
  }

  /** Adds a schema that the document does not have. */
  add(name: string, schema: SchemaObject): string {
    const file = this.#name(name);
    const { title, ...rest } = schema;
    this.schemas[file] = { title: this.schemas[file]!.title!, ...rest };
    return file;
  }

  /** Writes the schemas of all files, until none of them refers to one without a file. */
  write(): void {
    for (let pointer = this.#waiting.shift(); pointer !== undefined; pointer = this.#waiting.shift()) {
      const file = this.#files.get(pointer)!;
      const value = valueAt(this.document, parsePointer(pointer));
      const schema = upgraded(value, pointer, this.#rewriting);
      const { title } = this.schemas[file]!;
      this.schemas[file] = { title: title!, ...(schema === false ? { not: {} } : (schema as SchemaObject)) };
    }
  }

  #refer(ref: string, pointer: string): string | boolean {
    const target = this.resolve(ref, pointer);
    if (target === undefined) {
      const isSchema = /^https?:\/\/json-schema\.org\//.test(ref);
      this.note(
        pointer,
        `refers to ${ref}, which is not in the file, and allows any ${isSchema ? "schema" : "value"} here`,
      );
      return true;
    }
    const value = valueAt(this.document, parsePointer(target));
    return typeof value === "boolean" ? value : this.of(target).slice("messages/".length);
  }

  /** Chooses a free title, and the file that it names. */
  #name(name: string): string {
    const base = pascal(name.replace(/([a-z0-9])([A-Z])/g, "$1 $2"))
      .replace(/[^A-Za-z0-9]/g, "")
      .replace(/^[^A-Za-z]+/, "");
    const wanted = base === "" ? "Schema" : base[0]!.toUpperCase() + base.slice(1);
    let title = wanted;
    for (let count = 2; this.#titles.has(title.toLowerCase()); count++)
      title = count === 2 ? `${wanted}Schema` : `${wanted}Schema${count}`;
    this.#titles.add(title.toLowerCase());
    const file = `messages/${title.replace(/([a-z0-9])([A-Z])/g, "$1-$2").toLowerCase()}.json`;
    this.schemas[file] = { title };
    return file;
  }
}

/** A name for the schema at a pointer: the last names of things on its path. */
export function nameOf(pointer: string, document: Source): string {
  const steps = parsePointer(pointer);
  const named = steps.filter((step) => !places.has(step) && !/^\d+$/.test(step));
  if (named.length === 0) {
    const { title, $id, id } = document;
    const text = [title, $id, id].find((one) => typeof one === "string") as string | undefined;
    const last = text
      ?.replace(/[#?].*$/, "")
      .replace(/(\.schema)?\.json$/, "")
      .split("/")
      .at(-1);
    return last && /[a-z]/i.test(last) ? last : "Message";
  }
  return definitionOf(pointer) ?? named.slice(-2).join(" ");
}

/** The name of a definition; undefined for a place without one. */
export function definitionOf(pointer: string): string | undefined {
  const steps = parsePointer(pointer);
  return ["$defs", "definitions", "schemas"].includes(steps.at(-2) ?? "") ? steps.at(-1) : undefined;
}
