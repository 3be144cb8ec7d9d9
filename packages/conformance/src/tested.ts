import type { Called, ClientCall, Told } from "./steps.js";

/** A request of the suite. */
export interface Asking {
  readonly method: string;
  readonly target: string;
  /** A header given as undefined is left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Uint8Array;
}

export interface Head {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface Whole extends Head {
  readonly text: string;
}

/** A whole answer to the byte. */
export interface Answered extends Whole {
  readonly bytes: Uint8Array;
}

/** An answer whose body is read as it comes. */
export interface Opened extends Head {
  /** The next text of the body; undefined at its end. Throws `Unmet` if nothing comes in time, or the connection is lost. */
  next(): Promise<string | undefined>;
  /** The rest of the body. */
  rest(): Promise<string>;
  abort(): void;
}

/** One end of a WebSocket, frame by frame. */
export interface Frames {
  /** The next frame of the peer. Throws `Unmet` if nothing comes in time. */
  next(): Promise<Frame>;
  send(text: string): void;
  /** A frame as it is, such as a fragment (RFC 6455, section 5.2). */
  frame(opcode: number, payload: string, fin?: boolean): void;
  close(code?: number): void;
  /** Ends the connection without a close frame. */
  cut(): void;
}

export type Frame =
  | { readonly text: string }
  | { readonly binary: number }
  | { readonly pong: string }
  | { readonly close: number };

/** A server under test, as a case sees it. */
export interface TestedServer {
  /** Whether the server has no fixture: its answers are its own. */
  readonly live: boolean;
  /** Milliseconds that something expected may take. */
  readonly wait: number;
  /** Sends a request, with the token where the contract has one. */
  request(asking: Asking): Promise<Answered>;
  open(asking: Asking): Promise<Opened>;
  socket(asking: Asking): Promise<Frames | Whole>;
  /** What the handlers were given since the case began. */
  report(): Promise<readonly Called[]>;
}

type Texts = Readonly<Record<string, string>>;

/** A request of the client under test. */
export interface Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The body to the byte. */
  readonly bytes: Uint8Array;
  readonly isSocket: boolean;
  answer(status: number, type: string | undefined, body: string | Uint8Array, headers?: Texts): void;
  /** Begins a streamed answer. */
  begin(status: number, type: string, headers?: Texts): void;
  /** One chunk of a streamed answer. Resolves when it was handed to the network alone. */
  write(bytes: string | Uint8Array): Promise<void>;
  end(): void;
  cut(): void;
  accept(): Frames;
  /** Resolves when the client has gone. */
  readonly gone: Promise<void>;
}

/** A client under test, as a case sees it. */
export interface TestedClient {
  readonly wait: number;
  /** What this client has reported of streams in their plain form in this run, by call and messages. */
  readonly plain: Pick<Map<string, Promise<Told>>, "get" | "set" | "delete">;
  /** Makes the client call, answers its requests in turn, and returns what it reports. */
  call(call: ClientCall, serve: (exchange: Exchange, index: number) => Promise<void>): Promise<Told>;
}
