/**
 * The model of a contract: what may be said between an editor and an agent, as plain data.
 * `contract.json` is this value with prose; the generated value is this value with validators.
 * The vocabulary is closed by `schemas/contract.schema.json`.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Who wrote something. The client is the editor's side, the server the agent's. */
export type Side = "client" | "server";

/** A JSON Pointer (RFC 6901) into a body, such as `/error/code`. In reading rules `*` stands for every array element. */
export type Pointer = string;

/**
 * The name of a schema. In `contract.json` it is a file path relative to that file ("messages/text.json");
 * in a loaded or generated contract it is the schema's title ("TextMessage").
 */
export type SchemaName = string;

export interface Contract {
  /** Version of this model. A runtime refuses a contract of a format it does not know. */
  readonly format: 1;
  /** Kebab-case; names the folder, the generated file and the package's subpath. */
  readonly name: string;
  /** Base URL where the protocol's document expects a server. */
  readonly url: string;
  readonly auth?: Auth;
  readonly tag: Tag;
  /** The input name that identifies a session across operations, streams and channels (`session_id`). */
  readonly session?: string;
  /** Every message of streams and channels, by the name it has in memory. For a shape tag the order is the order of matching. */
  readonly messages: Readonly<Record<string, Message>>;
  readonly operations: Readonly<Record<string, Operation>>;
  readonly channels: Readonly<Record<string, Channel>>;
  readonly exchanges?: readonly Exchange[];
  readonly reading?: readonly Reading[];
  /**
   * Named ways to write a superset of the documented form: message name -> properties to add. `{ "copyOf": "args" }`, also within an
   * object, stands for the message's own property `args`.
   */
  readonly profiles?: Readonly<Record<string, Profile>>;
  /** The profile that is written where the caller names none. Without it, the documented form is. */
  readonly profile?: string;
  readonly fault: Fault;
  readonly retry?: Retry;
}

export interface Auth {
  /** RFC 6750 bearer token; `optional` where a local single user needs none. */
  readonly bearer: "required" | "optional";
}

/** How a frame names its message. */
export type Tag =
  /** The SSE event name; the body does not repeat it. */
  | { readonly in: "event" }
  /** A property of the body. With `event`, the SSE event name says it too, and stands in where the property is missing. */
  | { readonly in: "property"; readonly property: string; readonly event?: true }
  /** Constants, required and forbidden fields; the first message in contract order that fits. */
  | { readonly in: "shape" };

export interface Message {
  readonly schema: SchemaName;
  /** Only with a shape tag. `const` is filled in on the way out and is not part of the message in memory. */
  readonly shape?: Shape;
  /** This message says that something failed, and where it says what. */
  readonly fault?: FaultPlaces;
}

export interface Shape {
  readonly const?: Readonly<Record<string, Json>>;
  readonly required?: readonly string[];
  readonly forbidden?: readonly string[];
}

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Operation {
  readonly method: Method;
  /** Path template, such as `/api/sessions/{session_id}`. */
  readonly path: string;
  /** Other templates that a server reads as this operation; never written. */
  readonly alsoAt?: readonly string[];
  readonly parameters?: Readonly<Record<string, Parameter>>;
  /**
   * Constants of the body or the query that tell two operations of one route apart. Filled in on the way out, not part
   * of the input. Where none of them is said on the wire, the first operation of the route is meant.
   */
  readonly when?: Readonly<Record<string, Json>>;
  /** An object schema; its properties join the parameters in one flat input. */
  readonly body?: SchemaName;
  readonly answer: Answer;
  /** HTTP status -> when it is answered. */
  readonly faults?: Readonly<Record<string, OperationFault>>;
}

export interface Parameter {
  readonly in: "path" | "query";
  readonly type: "string" | "integer" | "number" | "boolean";
  /** Query only; a path parameter is always required. */
  readonly required?: true;
}

/** What an operation answers: one of `json`, `text` (a content type) or `stream`; none of them is an empty body. */
export interface Answer {
  readonly status: number;
  readonly json?: SchemaName;
  readonly text?: string;
  readonly stream?: Stream;
}

export interface OperationFault {
  /** The body is plain text, not the contract's fault body. */
  readonly text?: true;
}

/** Server-Sent Events in an answer. */
export interface Stream {
  readonly messages: readonly string[];
  /** Messages after which the stream is over. With none, it ends by the caller's close or `closedBy`. */
  readonly end?: readonly string[];
  /** Messages after which the end of the body is an end too, though more may follow. */
  readonly mayEnd?: readonly string[];
  /** The operation that ends the session, and with it this stream. */
  readonly closedBy?: string;
  /** The message in which a server says that the work behind the stream failed. */
  readonly fault?: string;
  readonly text?: TextPlaces;
}

/** One WebSocket. */
export interface Channel {
  readonly path: string;
  readonly alsoAt?: readonly string[];
  readonly parameters?: Readonly<Record<string, Parameter>>;
  /** Messages that the client may send. */
  readonly client: readonly string[];
  readonly server: readonly string[];
  /** Messages that must come first from each side. */
  readonly open?: { readonly client?: string; readonly server?: string };
  /** The client's message after which the server may drop the connection, also with no close frame: that is an end. */
  readonly cancel?: string;
  /** The operation that ends the session, and with it this channel (close code 1000). */
  readonly closedBy?: string;
  readonly fault?: string;
  readonly text?: TextPlaces;
}

/** Where an answer's text is: message name -> property. A `final` text replaces what was appended. */
export interface TextPlaces {
  readonly append: Readonly<Record<string, string>>;
  readonly final?: Readonly<Record<string, string>>;
}

/** What answers what. */
export interface Exchange {
  readonly ask: string;
  readonly by: Side;
  /** The ask's property that its answers repeat. Without it, answers come in the order of the asks. */
  readonly key?: string;
  /** The message is an ask only when these fields have these values. */
  readonly when?: Readonly<Record<string, Json>>;
  readonly answers: readonly Reply[];
  /** By order only: asks with the same `busy` exclude each other; a second one is answered with this message at once. */
  readonly busy?: string;
}

/** A message, or an operation on another carrier, that answers. */
export interface Reply {
  readonly message?: string;
  readonly operation?: string;
  /** The answer's own name for the key. */
  readonly key?: string;
  /** The answer settles only a part, and the ask stays open, when one of these fields has one of these values. */
  readonly partial?: Readonly<Record<string, readonly Json[]>>;
  /** By order: the property that, where present, names the ask this answers. */
  readonly echo?: string;
}

/**
 * One thing that real peers say beside the document, and the documented form it is read as. Rules run in order, on the
 * wire form, before the tag is read; of one rule, `where` guards, and then each named change is made.
 */
export interface Reading {
  /** Who writes this. */
  readonly of: Side;
  /** Only in this operation: in its JSON answer where the server writes it, in its request's body where the client does. Otherwise in messages. */
  readonly operation?: string;
  /** Pointer -> the value that must stand there. */
  readonly where?: Readonly<Record<Pointer, Json>>;
  /** Pointer -> the property's documented name. A documented name that is present wins. */
  readonly rename?: Readonly<Record<Pointer, string>>;
  readonly remove?: readonly Pointer[];
  /** Pointer -> [written, documented] pairs. A written value alone is left out with its property. */
  readonly values?: Readonly<Record<Pointer, readonly (readonly [written: Json, documented?: Json])[]>>;
  /** Strings at these places are read in upper case. */
  readonly upper?: readonly Pointer[];
  /** A string at the place becomes an object with the string as `property` (and its 1-based place in the array as `position`), or an array of one. */
  readonly wrap?: Readonly<Record<Pointer, { readonly property: string; readonly position?: string } | "array">>;
  /** Pointer -> the value that is read where the last step of the pointer is missing. */
  readonly default?: Readonly<Record<Pointer, Json>>;
  /** An object at this top-level place is the message itself; in the answer of an operation a list there is the answer. */
  readonly unwrap?: Pointer;
}

export type Profile = Readonly<Record<string, Readonly<Record<string, Json>>>>;

/** Places in a body; the first is written, all are read. */
export interface FaultPlaces {
  readonly code?: readonly Pointer[];
  readonly text: readonly Pointer[];
  readonly details?: readonly Pointer[];
  readonly recoverable?: readonly Pointer[];
}

export interface Fault extends FaultPlaces {
  /** The HTTP body of a refusal. */
  readonly schema: SchemaName;
  readonly codes?: Readonly<Record<string, FaultCode>>;
}

export interface FaultCode {
  /** The HTTP status that it is answered with. */
  readonly status?: number;
  /** Of all refusals with this status that name no code of their own. A code without it is written only where a handler names it. */
  readonly generic?: true;
  readonly recoverable?: boolean;
}

export interface Retry {
  /** Seconds to wait before the second, third, … attempt of an operation that may be repeated. */
  readonly waits: readonly number[];
}

/** Whether a wire body has the form its schema asks for. Generated; the ABI of ajv's standalone functions. */
export interface Check {
  (data: unknown): boolean;
  errors?: readonly CheckError[] | null;
}

export type Checks = Readonly<Record<SchemaName, Check>>;

export interface CheckError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * A generated contract: the data, a check for every schema that goes over the wire, and, for the compiler only, the two
 * interfaces of its operations.
 */
export interface ContractValue<Client, Handlers> extends Contract {
  /** Of what the server writes, by schema title: all that a client needs. */
  readonly checks: Checks;
  /** Of what the client writes, `<Operation>Input` for the flat input of an operation or channel. Only a server loads them. */
  readonly accepts: () => Promise<{ readonly checks: Checks }>;
  readonly types?: { readonly client: Client; readonly handlers: Handlers };
}

/** A JSON Schema (2020-12). */
export type Schema = boolean | SchemaObject;
export interface SchemaObject {
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly Json[];
  readonly [keyword: string]: unknown;
}

/** What `load` returns: the contract with its prose and its schemas, for linting and generating. */
export interface ContractDocument {
  readonly contract: Contract;
  /** `contract.json` as it was written: titles, summaries and descriptions, with schemas named by file. */
  readonly source: Readonly<Record<string, unknown>>;
  /** By title, in the order of their files. Each has `$id` = `/<contract name>/<file>`. */
  readonly schemas: Readonly<Record<SchemaName, SchemaObject>>;
  /** Schema title -> file relative to the contract's folder. */
  readonly files: Readonly<Record<SchemaName, string>>;
  readonly transcripts: Readonly<Record<string, readonly TranscriptLine[]>>;
}

/** A line of `transcripts/*.jsonl`: who says what, and the exact bytes. */
export type TranscriptLine =
  | { readonly note: string }
  /** The client calls an operation or opens a channel. `input` is flat; `request` is method, target and body on the wire. */
  | {
      readonly from: "client";
      readonly call: string;
      readonly input: Readonly<Record<string, Json>>;
      readonly request?: { readonly method: string; readonly target: string; readonly body?: string };
      /** The wire form is one that is read, not the one that is written. */
      readonly read?: true;
    }
  /** The server answers an operation that has no stream: `body` is the exact text. */
  | {
      readonly from: "server";
      readonly status: number;
      readonly type?: string;
      readonly body: string;
      readonly answer?: Json;
      readonly read?: true;
    }
  /** One message: `wire` is the exact text of the frame (an SSE block with its blank line, or a WebSocket text), `message` its form in memory, absent where it is unknown. */
  | {
      readonly from: Side;
      readonly wire: string;
      readonly message?: Readonly<Record<string, Json>>;
      readonly read?: true;
      readonly unknown?: true;
    }
  /** The stream or socket ends. */
  | { readonly from: Side; readonly end: "done" | "close" | "cut" };
