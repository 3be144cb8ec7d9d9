import type { Channel, Operation } from "./call.js";
import type { Exchange } from "./exchange.js";
import type { Fault } from "./fault.js";
import type { Message, Tag } from "./message.js";
import type { Profile, Reading } from "./reading.js";

/**
 * The messages and operations between a client and a server, as plain data. `contract.json` is this value with prose; the generated value is this
 * value with validators. `schemas/contract.schema.json` closes the vocabulary.
 */
export interface Contract {
  /** Version of this model. A runtime refuses a contract of a format it does not know. */
  readonly format: 1;
  /** Kebab-case; names the folder, the generated file and the package's subpath. */
  readonly name: string;
  /** Base URL where the protocol's document expects a server. */
  readonly url: string;
  readonly auth?: Auth;
  /** Whether any parameter or the API key is in a header or cookie. Derived, so that other clients load no code for them. */
  readonly headers?: true;
  /** Names of properties and parameters whose values are secrets: derived from `x-secret`. Recordings leave them out. */
  readonly secrets?: readonly string[];
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
  /** The default profile. Without it, the documented form is written. */
  readonly profile?: string;
  readonly fault: Fault;
  readonly retry?: Retry;
}

/** Either a bearer token or an API key. */
export interface Auth {
  /** RFC 6750 bearer token; `optional` when a local single user needs none. */
  readonly bearer?: "required" | "optional";
  /** A key in a header of its own, which `header` names. */
  readonly apiKey?: "required" | "optional";
  readonly header?: string;
}

export interface Retry {
  /** Seconds to wait before the second, third, … attempt of an operation that may be repeated. */
  readonly waits: readonly number[];
}
