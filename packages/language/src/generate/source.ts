import type { ContractDocument, Json, Method, Parameter, SchemaObject, Stream } from "@parlance/wire";
import { mapSchema } from "../walk.js";

/** `contract.json` as its meta-schema has it: the prose and the constraints that the runtime's contract leaves out. */
export interface Source {
  readonly title: string;
  readonly description?: string;
  readonly version?: string;
  readonly auth?: { readonly description?: string };
  readonly operations: Readonly<Record<string, SourceCall>>;
  readonly channels: Readonly<Record<string, SourceCall>>;
  readonly methods?: Readonly<Record<string, { readonly summary: string; readonly description?: string }>>;
  readonly errors?: Readonly<Record<string, { readonly code: string; readonly description: string }>>;
  readonly faults?: SourceFaults;
  readonly exchanges?: readonly { readonly description?: string }[];
  readonly reading?: readonly { readonly description: string }[];
  readonly fault: {
    readonly codes?: Readonly<Record<string, { readonly status?: number; readonly description: string }>>;
  };
  readonly retry?: { readonly description?: string };
}

export interface SourceCall {
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: Readonly<Record<string, SourceParameter>>;
  readonly answer: {
    readonly description?: string;
    readonly examples?: readonly string[];
    readonly headers?: Readonly<Record<string, SourceHeader>>;
  };
  readonly faults?: SourceFaults;
}

type SourceFaults = Readonly<
  Record<string, { readonly description: string; readonly text?: true; readonly examples?: readonly string[] }>
>;

export interface SourceHeader extends SchemaObject {
  readonly required?: true;
}

export interface SourceParameter extends SchemaObject {
  readonly in: Parameter["in"];
  readonly required?: true;
}

export const sourceOf = (document: ContractDocument) => document.source as unknown as Source;

/** How a client authenticates: the scheme's name in the documents, its description without a type, and whether a request needs it. */
export function credentialsOf(
  document: ContractDocument,
): { name: string; header?: string; needed: boolean } | undefined {
  const { auth } = document.contract;
  if (auth === undefined) return undefined;
  const { bearer, apiKey, header } = auth;
  return { name: bearer ? "bearer" : "apiKey", ...(header && { header }), needed: (bearer ?? apiKey) === "required" };
}

/** All schemas by title, without their ids and dialect; `at` rewrites references from the title and its fragment. */
export function schemasAt(document: ContractDocument, at: (title: string) => string): Record<string, Json> {
  const byId = new Map(Object.entries(document.schemas).map(([title, schema]) => [schema.$id, title]));
  const placed = Object.entries(document.schemas).map(([title, schema]) => {
    const moved = mapSchema(schema, ({ $id, $schema, tsType, ...one }) => {
      if (typeof one.$ref !== "string") return one;
      const [file, fragment = ""] = one.$ref.split("#") as [string, string?];
      const target = file === "" ? title : byId.get(new URL(file, `parlance:${schema.$id}`).pathname);
      return { ...one, $ref: `${at(target ?? file)}${fragment}` };
    });
    return [title, moved];
  });
  return Object.fromEntries(placed);
}

/** The examples of a schema in the form of OpenAPI, or none. */
export function examplesOf(examples: readonly Json[] | undefined): { examples?: Record<string, { value: Json }> } {
  if (!examples?.length) return {};
  return {
    examples: Object.fromEntries(examples.map((value, index) => [`example-${index + 1}`, { value }])),
  };
}

/** A stream in a transcript, as written: all frames from a call to the end, without those that are only read. */
export function recorded(document: ContractDocument, operation: string): string | undefined {
  for (const lines of Object.values(document.transcripts)) {
    const start = lines.findIndex((line) => "call" in line && line.call === operation);
    if (start < 0) continue;
    const rest = lines.slice(start + 1);
    const end = rest.findIndex((line) => "call" in line || "end" in line);
    const frames = rest
      .slice(0, end < 0 ? undefined : end)
      .flatMap((line) => ("wire" in line && !line.read ? line.wire : []));
    if (frames.length > 0) return frames.join("");
  }
  return undefined;
}

/** The end of a stream, as part of a sentence; undefined if it does not end by itself. */
export function endsOf({ end = [], sentinel }: Stream): string | undefined {
  const ends = [...end.map((name) => `\`${name}\``), ...(sentinel === undefined ? [] : [`\`data: ${sentinel}\``])];
  return ends.length === 0 ? undefined : ends.join(" or ");
}

/** A URL in the form of an AsyncAPI server. */
export function hostOf(url: string): { host: string; protocol: string; pathname?: string } {
  const { host, protocol, pathname } = new URL(url);
  return { host, protocol: protocol.slice(0, -1), ...(pathname !== "/" && { pathname }) };
}
