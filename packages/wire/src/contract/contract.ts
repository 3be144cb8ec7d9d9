// Generated from schemas/contract.schema.json by packages/language/test/scenarios/contract-types.test.ts. Do not edit: change the schema, and
// run `npx vitest run packages/language/test/scenarios/contract-types.test.ts -u`.
import type { Json, Pointer, SchemaName } from "./schema.js";

/** What a contract.json may say. The vocabulary is closed: a protocol that needs another word is a design discussion. */
export interface Contract {
  /** Version of this vocabulary: 1, or 2 where the contract has methods. A runtime refuses a format that it does not know. */
  readonly format: 1 | 2;
  /** The protocol's name, in lower case with hyphens, such as my-agent. It is the folder's name, and names the generated files. */
  readonly name: string;
  /** Where a server is expected, beginning with http:// or https://, such as `http://localhost:8080`. */
  readonly url: string;
  /** How a client authenticates. Without it, there is no authentication. */
  readonly auth?: Auth;
  /** How a frame names its message. */
  readonly tag: Tag;
  /** The parameter that identifies a session across operations, streams and channels, such as session_id. With methods, the property of their params. */
  readonly session?: string;
  /** The contract's channels carry JSON-RPC, in both directions. */
  readonly rpc?: Rpc;
  /** Requests and notifications of JSON-RPC, by their name on the wire, such as session/prompt. Loading expands them to messages and exchanges. */
  readonly methods?: Readonly<Record<string, RpcMethod>>;
  /** The codes of errors in answers, by their number, beside those of JSON-RPC itself. */
  readonly errors?: Readonly<Record<string, RpcCode>>;
  /** Every message of streams and channels, by the name it has in memory. A name that ends with * is a prefix: data-* is every message whose name begins with data- and is not one of its own. For a shape tag the order is the order of matching. */
  readonly messages: Readonly<Record<string, Message>>;
  /** HTTP requests, by the name that a caller uses. Names are identifiers, such as listFiles. */
  readonly operations: Readonly<Record<string, Operation>>;
  /** WebSockets, by the name that a caller uses. Names are identifiers, such as session. */
  readonly channels: Readonly<Record<string, Channel>>;
  /** Which message answers which. */
  readonly exchanges?: readonly Exchange[];
  /** What real peers write beside the document, and the documented form that it is read as. Rules run in order, before the tag is read. */
  readonly reading?: readonly Reading[];
  /** Named ways to write more than the document says: profile, message, and the properties to add. */
  readonly profiles?: Readonly<Record<string, Profile>>;
  /** The profile that is written where the caller names none. Without it, the documented form is. */
  readonly profile?: string;
  /** The body of a refusal: an HTTP answer with a status of 400 or more. */
  readonly fault: Fault;
  /** How often a client repeats an operation that may be repeated. */
  readonly retry?: Retry;
  /** Whether any parameter or the API key is in a header or cookie. Derived. */
  readonly headers?: true;
  /** Names of properties and parameters whose values are secrets, which recordings leave out. Derived from `x-secret`. */
  readonly secrets?: readonly string[];
}

/** How a client authenticates. Without it, there is no authentication. */
export interface Auth {
  /** "required", or "optional" where a local single user needs none: a token in the header Authorization: Bearer (RFC 6750). */
  readonly bearer?: "required" | "optional";
  /** "required" or "optional": an API key in a header of its own. Instead of "bearer", and together with "header". */
  readonly apiKey?: "required" | "optional";
  /** The header that carries the API key, such as X-API-Key. */
  readonly header?: string;
}

/** How a frame names its message. */
export type Tag =
  | {
      readonly in: "event";
    }
  | {
      readonly in: "property";
      /** The property that names the message, such as type. Only where "in" is "property". */
      readonly property: string;
      /** true: the SSE event name says it too, and stands in where the property is missing. Only where "in" is "property". */
      readonly event?: true;
    }
  | {
      readonly in: "shape";
    };

/** The contract's channels carry JSON-RPC, in both directions. */
export interface Rpc {
  /** "2.0", which each frame repeats as jsonrpc. */
  readonly version: "2.0";
  /** The method, a notification of both sides, that cancels the request with the id in its requestId, such as $/cancel_request. */
  readonly cancel?: string;
  /** The prefix of methods that peers may add, such as _. They are sent and handled unchecked. */
  readonly extensions?: string;
}

/** A code of errors. */
export interface RpcCode {
  /** The word for it, which a Refusal has as its code, such as auth_required. */
  readonly code: string;
}

/** A message: its schema, and how it is told apart. */
export interface Message {
  /** The file of its schema, such as messages/text.json. */
  readonly schema: SchemaName;
  /** What tells this message apart, where the tag is in the shape. */
  readonly shape?: Shape;
  /** This message says that something failed, and where it says what. */
  readonly fault?: FaultPlaces;
}

/** What tells this message apart, where the tag is in the shape. */
export interface Shape {
  /** Constants of the body. They are filled in on the way out and are not part of the message in memory. */
  readonly const?: Readonly<Record<string, Json>>;
  /** Properties that the body has. */
  readonly required?: readonly string[];
  /** Properties that the body does not have. */
  readonly forbidden?: readonly string[];
}

/** Message name to the properties that are added to it. { "copyOf": "args" }, also within an object, stands for the message's own property args. */
export type Profile = Readonly<Record<string, Readonly<Record<string, Json>>>>;

/** The body of a refusal: an HTTP answer with a status of 400 or more. */
export interface Fault {
  /** The file of the body's schema. */
  readonly schema: SchemaName;
  /** Where the error code is. The first place is written, all are read. */
  readonly code?: readonly Pointer[];
  /** Where the text for a user is. The first place is written, all are read. */
  readonly text: readonly Pointer[];
  /** Where further details are. */
  readonly details?: readonly Pointer[];
  /** What is written as the details where a refusal has none. */
  readonly noDetails?: Json;
  /** Where the body says that the work can go on. */
  readonly recoverable?: readonly Pointer[];
  /** The error codes that there are. */
  readonly codes?: Readonly<Record<string, FaultCode>>;
}

/** An error code. */
export interface FaultCode {
  /** The HTTP status that it goes with. */
  readonly status?: number;
  /** Of all refusals with its status that name no code of their own. One code a status. */
  readonly generic?: true;
  /** Whether the work can go on after it. */
  readonly recoverable?: boolean;
}

/** How often a client repeats an operation that may be repeated. */
export interface Retry {
  /** Seconds to wait before the second, third, … attempt. */
  readonly waits: readonly number[];
}

/** Who writes something: the client is the editor, the server the agent. */
export type Side = "client" | "server";

/** A header of an answer. */
export interface AnswerHeader {
  /** "string", "integer", "number" or "boolean": it travels as text. */
  readonly type: "string" | "integer" | "number" | "boolean";
  /** true: every such answer has it. */
  readonly required?: true;
  /** The values that there are. One that is alone is sent with a stream though its handler does not set it. */
  readonly enum?: readonly Json[];
}

/** A parameter. */
export interface Parameter {
  /** "path", "query", "header" or "cookie". A channel has none of the last two: browsers cannot send them with a WebSocket. */
  readonly in: "path" | "query" | "header" | "cookie";
  /** "string", "integer", "number" or "boolean": it travels as text. */
  readonly type: "string" | "integer" | "number" | "boolean";
  /** true: the request needs it. A parameter in the path always is. */
  readonly required?: true;
}

/** Where a message says what failed. */
export interface FaultPlaces {
  /** Where the error code is. */
  readonly code?: readonly Pointer[];
  /** Where the text for a user is. */
  readonly text: readonly Pointer[];
  /** Where further details are. */
  readonly details?: readonly Pointer[];
  /** What is written as the details where a refusal has none. */
  readonly noDetails?: Json;
  /** Where it says that the work can go on. */
  readonly recoverable?: readonly Pointer[];
}

/** A refusal. */
export interface OperationFault {
  /** true: the body is plain text, not the fault's. */
  readonly text?: true;
}

/** Where an answer's text is, for text(). */
export interface TextPlaces {
  /** Message name to the property whose text is appended. */
  readonly append: Readonly<Record<string, string>>;
  /** Message name to the property whose text replaces what was appended. */
  readonly final?: Readonly<Record<string, string>>;
}

/** An answer by Server-Sent Events, or by lines of JSON. */
export interface Stream {
  /** The messages that the server sends. */
  readonly messages: readonly string[];
  /** Messages after which the stream is over. With none, it ends by the caller's close or by closedBy. */
  readonly end?: readonly string[];
  /** The data of the event that follows the last message, such as [DONE]. The stream is over with it, and a stream that stops without it was cut. */
  readonly sentinel?: string;
  /** The media type of a body of lines, each of which is the JSON of a message, such as application/x-ndjson: instead of Server-Sent Events. */
  readonly lines?: string;
  /** Messages after which the end of the body is an end too, though more may follow. */
  readonly mayEnd?: readonly string[];
  /** The operation that ends the session, and with it this stream. */
  readonly closedBy?: string;
  /** The message that says that the work behind the stream failed. */
  readonly fault?: string;
  /** How a stream that was cut is joined again at a server that does not resume it by Parlance's own header. */
  readonly rejoin?: Rejoin;
  /** Where the answer's text is, for text(). */
  readonly text?: TextPlaces;
}

/** How a stream that was cut is joined again. Without after and repeats, Last-Event-ID names the last event that was read. */
export interface Rejoin {
  /** The operation whose stream goes on: a GET. It may be the operation itself. */
  readonly operation: string;
  /** Parameters of that operation, with the JSON Pointer of their value in the last message that has one. The others are those of the call. */
  readonly input?: Readonly<Record<string, Pointer>>;
  /** Parameters that name the last message that was read, in the same way. A number counts the messages one by one. */
  readonly after?: Readonly<Record<string, Pointer>>;
  /** true: the stream comes from its beginning again, and the client skips what it has read. Instead of after. */
  readonly repeats?: true;
}

/** An HTTP request and its answer. */
export interface Operation {
  /** The HTTP method. */
  readonly method: Method;
  /** The path, such as /sessions/{session_id}/prompt. */
  readonly path: string;
  /** Other paths that a server reads as this operation; never written. */
  readonly alsoAt?: readonly string[];
  /** Values in the path, the query, headers and cookies. */
  readonly parameters?: Readonly<Record<string, Parameter>>;
  /** Constants of the body or the query that tell two operations of one route apart. They are filled in on the way out and are not part of the input. */
  readonly when?: Readonly<Record<string, Json>>;
  /** The file of the body's schema, an object. Its properties join the parameters in one flat input. */
  readonly body?: SchemaName;
  /** The media type of a body of bytes, such as application/octet-stream, instead of "body". */
  readonly binary?: string;
  /** What a server answers: one of json, text, binary and stream, or an empty body. */
  readonly answer: Answer;
  /** What the operation may be refused with. */
  readonly faults?: Readonly<Record<string, OperationFault>>;
  /** Names of `when` that a request may leave out and still mean this operation. Derived. */
  readonly absent?: readonly string[];
  /** Whether the request or answer has bytes, or the answer has headers, may have no body or is a stream of lines or one that is joined again. Derived. */
  readonly transfer?: true;
}

/** The HTTP method. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** What a server answers: one of json, text, binary and stream, or an empty body. */
export interface Answer {
  /** The HTTP status, from 200 to 299. */
  readonly status: number;
  /** Another status, such as 204, that comes with no body: the result of the call is then undefined, and a stream has no messages. */
  readonly none?: number;
  /** The file of the answer's schema. */
  readonly json?: SchemaName;
  /** The content type of an answer in text, such as text/plain. */
  readonly text?: string;
  /** The media type of an answer of bytes, such as application/octet-stream. */
  readonly binary?: string;
  /** Headers of an answer, by name. The result of the call is an object with them beside the body; of a stream, they are sent with its head. */
  readonly headers?: Readonly<Record<string, AnswerHeader>>;
  /** The answer is a stream of Server-Sent Events, or of lines of JSON. */
  readonly stream?: Stream;
}

/** A conversation in both directions. */
export interface Channel {
  /** The path, such as /sessions/{session_id}. */
  readonly path: string;
  /** Other paths that a server reads as this channel; never written. */
  readonly alsoAt?: readonly string[];
  /** What carries its frames: "websocket", "stdio" (lines of JSON on standard input and output), or both. Without it, a WebSocket does. */
  readonly carriers?: readonly Carrier[];
  /** Values in the path and the query. */
  readonly parameters?: Readonly<Record<string, Parameter>>;
  /** The messages that the client may send. With methods, they are all of the client's, and this is left out. */
  readonly client: readonly string[];
  /** The messages that the server may send. With methods, they are all of the server's, and this is left out. */
  readonly server: readonly string[];
  /** The messages that must come first. */
  readonly open?: {
    /** The client's first message. */
    readonly client?: string;
    /** The server's first message. */
    readonly server?: string;
  };
  /** The client's message after which the server may drop the connection, also with no close frame: that is an end. */
  readonly cancel?: string;
  /** The operation that ends the session, and with it this channel. */
  readonly closedBy?: string;
  /** The server's message that says that the work behind the channel failed. */
  readonly fault?: string;
  /** Where the answer's text is. */
  readonly text?: TextPlaces;
}

/** A method of JSON-RPC: a request where it has a result, a notification otherwise. */
export interface RpcMethod {
  /** Who sends it: "client", "server" or "both". */
  readonly by: "client" | "server" | "both";
  /** The file of its params' schema, an object. Without it, the method has none. */
  readonly params?: SchemaName;
  /** The file of its result's schema, an object. */
  readonly result?: SchemaName;
  /** The notification of the other side that belongs to this request while it is open and its params name the same session. */
  readonly stream?: string;
  /** The notification that cancels the open requests of the session that its params name. */
  readonly cancel?: string;
  /** The result that ends a cancelled request. Without it, a cancelled request ends with error -32800. */
  readonly cancelled?: Readonly<Record<string, Json>>;
  /** true: a question to a person. It stays open when its reader is gone, and the session's next reader is shown it. */
  readonly ask?: true;
  /** Where the answering side announces the method, such as /agentCapabilities/loadSession. Its handler may be left out. */
  readonly needs?: Pointer;
}

/** What carries a channel's frames. */
export type Carrier = "websocket" | "stdio";

/** A message that wants an answer. */
export interface Exchange {
  /** The message that asks. */
  readonly ask: string;
  /** Who asks: "client" or "server". */
  readonly by: Side;
  /** The ask's property that its answers repeat, or a JSON Pointer to it, such as /properties/id. Without it, answers come in the order of the asks. */
  readonly key?: string;
  /** The message is an ask only when these fields have these values. */
  readonly when?: Readonly<Record<string, Json>>;
  /** By order only: asks with the same busy message exclude each other; a second one is answered with it at once. */
  readonly busy?: string;
  /** What answers it: messages of the other side, or operations. */
  readonly answers: readonly Reply[];
}

/** An answer: either "message" or "operation", and one of them only. */
export interface Reply {
  /** The message that answers. */
  readonly message?: string;
  /** The operation whose request answers. */
  readonly operation?: string;
  /** The answer's own name for the key, or its own JSON Pointer. */
  readonly key?: string;
  /** The answer settles only a part, and the ask stays open, when one of these fields has one of these values. */
  readonly partial?: Readonly<Record<string, readonly Json[]>>;
  /** An answer to a part settles the ask nevertheless when one of these holds: the ask has only that part. */
  readonly whole?: readonly Whole[];
  /** By order: the property that, where present, names the ask that is answered. */
  readonly echo?: string;
}

/** A condition. Without a keyword it always holds. */
export interface Whole {
  /** The answer's fields have these values. */
  readonly when?: Readonly<Record<string, Json>>;
  /** The answer's fields repeat what the ask has at these JSON Pointers. A pointer that leads nowhere in the ask holds. */
  readonly same?: Readonly<Record<string, Pointer>>;
  /** The list at this JSON Pointer of the ask has at most one item. */
  readonly single?: Pointer;
}

/** One thing that real peers write, and how it is read. `where` guards; then each named change is made. */
export interface Reading {
  /** Who writes it: "client" or "server". */
  readonly of: Side;
  /** Only in this operation: in its JSON answer where "of" is "server", in its request's body where it is "client". Otherwise in messages. */
  readonly operation?: string;
  /** JSON Pointer to the value that must stand there. */
  readonly where?: Readonly<Record<Pointer, Json>>;
  /** JSON Pointer to the property's documented name. A documented name that is present wins. */
  readonly rename?: Readonly<Record<Pointer, string>>;
  /** Places whose property is left out. */
  readonly remove?: readonly Pointer[];
  /** JSON Pointer to pairs of a written value and the documented one. A written value alone, such as [null], is left out with its property. */
  readonly values?: Readonly<Record<Pointer, readonly (readonly [Json, Json?])[]>>;
  /** Places whose string is read in upper case. */
  readonly upper?: readonly Pointer[];
  /** JSON Pointer to "array", or to { "property": "…" }: the string there becomes an object with it, or the value an array of one. */
  readonly wrap?: Readonly<
    Record<
      Pointer,
      | "array"
      | {
          /** The property that holds the string. */
          readonly property: string;
          /** The property that holds the string's place in its array, from 1. */
          readonly position?: string;
        }
    >
  >;
  /** JSON Pointer to the value that is read where nothing stands. What leads to the last step must be there. */
  readonly default?: Readonly<Record<Pointer, Json>>;
  /** The place of an object that is the message itself. */
  readonly unwrap?: Pointer;
}
