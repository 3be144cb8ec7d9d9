import { escapeStep, parsePointer, valueAt } from "@parlance/wire/internal/pointer";
import { isObject } from "@parlance/wire/json";
import type { Source } from "../source.js";

const ROOT = "import:/root";
/** Maps from names to schemas: a key in one is no keyword. */
const named = new Set(["properties", "patternProperties", "$defs", "definitions", "schemas", "dependentSchemas"]);

/** A document whose references are followed. */
export interface Lookup {
  readonly document: Source;
  /** The value at a pointer, or the one that a reference there leads to. */
  at(pointer: string): { readonly value: Source; readonly pointer: string };
  /** The pointer to what a reference at a pointer means. */
  resolve(ref: string, from: string): string | undefined;
}

/** Finds the target of a reference in a document, by pointers, identities and anchors of any draft. */
export class Identities {
  readonly #document: Source;
  /** The base of references, by the pointer that it holds from. */
  readonly #bases = new Map<string, string>([["", ROOT]]);
  /** Pointers by absolute identity, and by identity with an anchor. */
  readonly #places = new Map<string, string>([[ROOT, ""]]);

  constructor(document: Source) {
    this.#document = document;
    this.#collect(document, "", ROOT, false);
  }

  /** The pointer to what a reference at a pointer means; undefined for one that leads out of the document, or nowhere. */
  resolve(ref: string, from: string): string | undefined {
    const url = absolute(ref, this.#baseOf(from));
    const [id, fragment = ""] = url.split("#") as [string, string?];
    const place = this.#places.get(id);
    const text = decoded(fragment);
    const anchored = this.#places.get(`${id}#${text}`);
    const found = anchored ?? (place !== undefined && (text === "" || text.startsWith("/")) ? place + text : undefined);
    if (found !== undefined && valueAt(this.#document, parsePointer(found)) !== undefined) return found;
    // Some writers name a definition as it is.
    const name = escapeStep(decoded(ref).replace(/^#?\/?/, ""));
    return ["/definitions/", "/$defs/", "/components/schemas/"]
      .map((place) => place + name)
      .find((pointer) => valueAt(this.#document, parsePointer(pointer)) !== undefined);
  }

  #baseOf(pointer: string): string {
    for (let at = pointer; ; at = at.slice(0, at.lastIndexOf("/"))) {
      const base = this.#bases.get(at);
      if (base !== undefined) return base;
    }
  }

  #collect(value: unknown, pointer: string, base: string, isMap: boolean): void {
    if (Array.isArray(value))
      for (const [at, one] of value.entries()) this.#collect(one, `${pointer}/${at}`, base, false);
    if (!isObject(value)) return;
    let own = base;
    if (!isMap) {
      const id = [value.$id, value.id].find((one) => typeof one === "string") as string | undefined;
      if (id?.startsWith("#")) this.#places.set(`${base}${id}`, pointer);
      else if (id !== undefined) own = absolute(id, base).replace(/#.*$/, "");
      if (own !== base) {
        this.#bases.set(pointer, own);
        this.#places.set(own, pointer);
      }
      for (const anchor of [value.$anchor, value.$dynamicAnchor])
        if (typeof anchor === "string") this.#places.set(`${own}#${anchor}`, pointer);
    }
    for (const [key, child] of Object.entries(value))
      this.#collect(child, `${pointer}/${escapeStep(key)}`, own, !isMap && named.has(key));
  }
}

function absolute(ref: string, base: string): string {
  try {
    return new URL(ref, base).href;
  } catch {
    return ref;
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
