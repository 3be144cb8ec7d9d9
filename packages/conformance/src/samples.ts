import { Conversations } from "@parlance/recordings";
import {
  type Accepts,
  type AnyContract,
  bind,
  bindHeaders,
  type Codec,
  type ContractDocument,
  checkOf,
  encode,
  isObject,
  type Json,
  type Parameter,
  type SchemaObject,
  type Side,
} from "@parlance/wire";
import { nameIn } from "@parlance/wire/message-decoder";
import type { ClientStep, JsonMessage } from "./steps.js";
import type { Asking } from "./tested.js";

/** A contract's folder as a value with checks, such as `contractValue` of `@parlance/language/value`. */
export type ValueOf = (document: ContractDocument) => AnyContract;

/** Keywords of a parameter that do not limit its text. */
const PLAIN = new Set(["in", "type", "required", "description", "examples", "default"]);

/** A form with its place in the contract's folder. */
export interface Placed<T> {
  readonly value: T;
  readonly at: string;
  /** Unique among the forms of its owner. */
  readonly name: string;
}

export type FlatInput = Readonly<Record<string, Json>>;

/** A contract from its folder, and what the cases are made of: inputs, answers and messages from its examples. */
export class Samples {
  readonly document: ContractDocument;
  readonly contract: AnyContract;
  readonly talk: Conversations;

  private constructor(document: ContractDocument, contract: AnyContract, accepts: Accepts) {
    this.document = document;
    this.contract = contract;
    this.talk = new Conversations(contract, accepts);
  }

  static async of(document: ContractDocument, read: ValueOf): Promise<Samples> {
    const contract = read(document);
    return new Samples(document, contract, await contract.accepts());
  }

  /** The prose of a call: parameters with examples, texts of answers. */
  prose(name: string): Readonly<Record<string, unknown>> {
    const { operations, channels } = this.document.source as Record<string, Record<string, Record<string, unknown>>>;
    return operations?.[name] ?? channels?.[name] ?? {};
  }

  placeOf(name: string): string {
    return `contract.json#/${name in this.contract.operations ? "operations" : "channels"}/${name}`;
  }

  examples(title: string): Placed<Json>[] {
    const { examples = [] } = this.document.schemas[title] ?? ({} as SchemaObject);
    const file = this.document.files[title];
    return examples.map((value, index) => ({ value, at: `${file}#/examples/${index}`, name: String(index) }));
  }

  /** The inputs of a call: the examples of its body, with a value for each parameter that it needs. */
  inputs(name: string): Placed<FlatInput>[] {
    const operation = this.contract.operations[name];
    const parameters = this.parameters(name);
    if (operation?.body === undefined) return [{ value: parameters, at: this.placeOf(name), name: "0" }];
    return this.examples(operation.body).flatMap(({ value, ...rest }) => {
      if (!isObject(value)) return [];
      const own = Object.entries(value).filter(([key]) => !(key in (operation.when ?? {})));
      return [{ value: { ...parameters, ...(Object.fromEntries(own) as FlatInput) }, ...rest }];
    });
  }

  input(name: string): FlatInput {
    return this.inputs(name)[0]?.value ?? this.parameters(name);
  }

  parameters(name: string): FlatInput {
    const prose = this.prose(name).parameters as Record<string, Parameter & SchemaObject> | undefined;
    const { when = {} } = (this.contract.operations[name] ?? {}) as { when?: FlatInput };
    const needed = Object.entries(prose ?? {}).filter(
      ([key, one]) => (one.in === "path" || one.required) && !(key in when),
    );
    return Object.fromEntries(needed.map(([key, schema]) => [key, this.#read(key, schema)]));
  }

  /** A value for a parameter, needed or not. */
  parameter(name: string, key: string): Json {
    return this.#read(key, this.#schemaOf(name, key));
  }

  /** Whether a parameter may hold any text. */
  isFree(name: string, key: string): boolean {
    return Object.keys(this.#schemaOf(name, key)).every((keyword) => PLAIN.has(keyword));
  }

  #schemaOf(name: string, key: string): Parameter & SchemaObject {
    return (this.prose(name).parameters as Record<string, Parameter & SchemaObject>)[key]!;
  }

  /** A value for a declared header of an answer. */
  answerHeader(name: string, key: string): Json {
    const { headers } = this.prose(name).answer as { headers: Record<string, Parameter & SchemaObject> };
    return this.#read(key, headers[key]!);
  }

  /** What a client does so that a stream without an end is left after so many messages. */
  leaving(name: string, count?: number): ClientStep[] {
    const isEndless = this.contract.operations[name]?.answer.stream !== undefined && !this.ends(name);
    return isEndless ? [{ receive: count ?? this.flow(name).length }, { close: true }] : [];
  }

  #read(key: string, schema: Parameter & SchemaObject): Json {
    const told = (schema.examples?.[0] ?? (schema.enum as Json[] | undefined)?.[0] ?? schema.default) as
      | Json
      | undefined;
    if (told !== undefined) return told;
    for (const lines of Object.values(this.document.transcripts))
      for (const line of lines) if ("call" in line && line.input[key] !== undefined) return line.input[key];
    if (schema.type === "boolean") return true;
    if (schema.type !== "string") return Number(schema.minimum ?? 1);
    return "x".repeat(Math.max(1, Number(schema.minLength ?? 1)));
  }

  /** The request of a call. */
  asking(name: string, input: FlatInput): Asking {
    const { method, target, body } = bind(this.contract, name, input);
    const own = this.contract.operations[name] ? bindHeaders(this.contract, name, input, {}) : {};
    const { binary } = this.contract.operations[name] ?? {};
    if (binary !== undefined) return { method, target, headers: { "Content-Type": binary, ...own }, body: BYTES };
    if (body === undefined) return { method, target, headers: own };
    return { method, target, headers: { "Content-Type": "application/json", ...own }, body: JSON.stringify(body) };
  }

  /** The answers that an operation without a stream may give, in their documented form. */
  answers(name: string): Placed<Json>[] {
    const { json, text } = this.contract.operations[name]!.answer;
    const at = `${this.placeOf(name)}/answer`;
    if (json !== undefined) return this.examples(json);
    const { examples = [] } = (this.prose(name).answer ?? {}) as { examples?: string[] };
    const texts: Json[] = examples.length > 0 ? examples : ["text"];
    return (text === undefined ? [null] : texts).map((value, index) => ({ value, at, name: String(index) }));
  }

  /** Whether a value that the server writes breaks the schema of a title beyond what its reader tolerates. */
  isFlawed(title: string, value: Json): boolean {
    const { checks, reads } = this.contract;
    // What is tolerated is changed in place.
    return !checkOf(this.contract, checks, title, reads)(structuredClone(value));
  }

  /** The messages of one side of a stream or channel. */
  names(name: string, side: Side): readonly string[] {
    const { channels, operations } = this.contract;
    return channels[name]?.[side] ?? (side === "server" ? (operations[name]?.answer.stream?.messages ?? []) : []);
  }

  /** The examples of a message in memory. */
  said(call: string, side: Side, type: string): Placed<JsonMessage>[] {
    const codec = this.talk.codec(call, side);
    return this.examples(this.contract.messages[type]!.schema).flatMap(({ value, ...rest }) => {
      const read = codec.decode({ event: type, data: JSON.stringify(value) });
      return "message" in read && nameIn(this.contract, read.message.type) === type
        ? [{ value: read.message as JsonMessage, ...rest }]
        : [];
    });
  }

  example(call: string, side: Side, type: string): JsonMessage | undefined {
    return this.said(call, side, type)[0]?.value;
  }

  codec(call: string, side: Side): Codec {
    return this.talk.codec(call, side);
  }

  /** A message as an SSE block. */
  block(call: string, message: JsonMessage): string {
    return encode(this.codec(call, "server").encode(message));
  }

  /** A message as the text of a frame. */
  frame(call: string, side: Side, message: JsonMessage): string {
    return this.codec(call, side).encode(message).data;
  }

  /** One example of each message of a stream that neither ends it nor is its failure, and then an end. */
  flow(name: string): JsonMessage[] {
    const { end = [], mayEnd = [], fault } = this.contract.operations[name]!.answer.stream!;
    const over = [...end, ...mayEnd];
    const types = this.names(name, "server").filter((type) => type !== fault && !over.includes(type));
    const last = [...over].sort((a, b) => Number(a === fault) - Number(b === fault)).slice(0, 1);
    return [...types, ...last].flatMap((type) => this.example(name, "server", type) ?? []);
  }

  /** What opens a channel, from each side. */
  opening(name: string): { readonly client: JsonMessage[]; readonly server: JsonMessage[] } {
    const { open } = this.contract.channels[name]!;
    const first = (side: Side) => (open?.[side] === undefined ? [] : [this.example(name, side, open[side])!]);
    return { client: first("client"), server: first("server") };
  }

  /** Whether the contract has a refusal with this status for a call. */
  declares(name: string, status: number): boolean {
    const { faults = {} } = this.document.source as { faults?: object };
    return status in ((this.prose(name).faults ?? {}) as object) || status in faults;
  }

  /** The statuses that refuse wrong input of a call: those of 400 and 422 that the contract declares, or either where it declares none. */
  inputStatuses(name: string): readonly number[] {
    const declared = [400, 422].filter((status) => this.declares(name, status));
    return declared.length === 0 ? [400, 422] : declared;
  }

  /** Whether a stream ends by itself. */
  ends(name: string): boolean {
    const stream = this.contract.operations[name]?.answer.stream;
    return (stream?.end ?? stream?.sentinel ?? stream?.mayEnd) !== undefined;
  }

  /** Whether a message ends its stream, or may. */
  isEnd(name: string, type: string): boolean {
    const { end = [], mayEnd = [] } = this.contract.operations[name]!.answer.stream!;
    return end.includes(type) || mayEnd.includes(type);
  }

  /** Whether a request of the client waits for the next answer, so that every one is answered. */
  get answersByOrder(): boolean {
    return (this.contract.exchanges ?? []).some(({ by, key }) => by === "client" && key === undefined);
  }
}

/** The bytes of every upload and download: each value of a byte, so that no text encoding leaves them as they are. */
export const BYTES = Uint8Array.from({ length: 512 }, (_, at) => at % 256);

/** The form of bytes in a line of a fixture or a client. */
export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
