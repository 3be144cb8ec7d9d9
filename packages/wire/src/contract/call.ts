import type { Json } from "./json.js";
import type { TextPlaces } from "./message.js";
import type { SchemaName } from "./schema.js";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Operation {
  readonly method: Method;
  /** Path template, such as `/api/sessions/{session_id}`. */
  readonly path: string;
  /** Other templates that a server reads as this operation; never written. */
  readonly alsoAt?: readonly string[];
  readonly parameters?: Readonly<Record<string, Parameter>>;
  /**
   * Constants of the body or the query that distinguish two operations of one route. The client adds them; they are not
   * part of the input. A request without them calls the first operation of the route.
   */
  readonly when?: Readonly<Record<string, Json>>;
  /** An object schema; its properties join the parameters in one flat input. */
  readonly body?: SchemaName;
  /** The media type of a body of bytes, instead of `body`. */
  readonly binary?: string;
  /** Whether the request or answer has bytes, or the answer has headers. Derived, so that other clients load no code for them. */
  readonly transfer?: true;
  readonly answer: Answer;
  /** HTTP status -> the condition for it. */
  readonly faults?: Readonly<Record<string, OperationFault>>;
}

export interface Parameter {
  /** A parameter in a header or cookie has the header's or cookie's name. Only operations have them. */
  readonly in: "path" | "query" | "header" | "cookie";
  readonly type: "string" | "integer" | "number" | "boolean";
  /** Not in the path: a path parameter is always required. */
  readonly required?: true;
}

/** An operation's answer: one of `json`, `text`, `binary` (media types) and `stream`; without any, an empty body. */
export interface Answer {
  readonly status: number;
  readonly json?: SchemaName;
  readonly text?: string;
  readonly binary?: string;
  readonly stream?: Stream;
  /** By name. The result of the call is an object with `headers` beside the `body`. */
  readonly headers?: Readonly<Record<string, AnswerHeader>>;
}

export interface AnswerHeader {
  readonly type: Parameter["type"];
  readonly required?: true;
}

export interface OperationFault {
  /** The body is plain text, not the contract's fault body. */
  readonly text?: true;
}

/** Server-Sent Events in an answer. */
export interface Stream {
  readonly messages: readonly string[];
  /** Messages that end the stream. With none and no `sentinel`, it ends by the caller's close or `closedBy`. */
  readonly end?: readonly string[];
  /** The data of the event that ends the stream (`[DONE]`). It is not a message. A stream that stops without it was cut. */
  readonly sentinel?: string;
  /** Messages after which the body may end, though more may follow. */
  readonly mayEnd?: readonly string[];
  /** The operation that ends the session, and with it this stream. */
  readonly closedBy?: string;
  /** The message that reports a failure of the stream's work. */
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
  /** The client's message after which the server may drop the connection, even without a close frame. It is a normal end. */
  readonly cancel?: string;
  /** The operation that ends the session, and with it this channel (close code 1000). */
  readonly closedBy?: string;
  readonly fault?: string;
  readonly text?: TextPlaces;
}
