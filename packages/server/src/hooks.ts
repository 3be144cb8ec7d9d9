import type { AnyMessage, Input, Refusal, Side, Unknown } from "@parlance/wire";

/** The functions of an app that calls run through. */
export interface CallbackOptions {
  readonly hooks?: Hooks | undefined;
  /**
   * Returns the principal of a request, or throws `Refusal`; undefined, null and false refuse with 401. Without it anybody may call, so
   * `listen` binds the loopback interface only.
   */
  readonly authenticate?: ((request: Request) => unknown) | undefined;
  /** Receives errors of callbacks and handlers that are hidden from the peer. @default writes to `console.error`; false discards it */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | false | undefined;
}

/** Where a reported error was thrown. */
export interface ErrorContext {
  /** Such as `hooks.open`, `handler`, `log` or `pub/sub`. */
  readonly source: string;
  /** The operation's or channel's name in the contract, where one is known. */
  readonly operation?: string | undefined;
}

/** A call as hooks see it. */
export interface Called {
  /** The operation's or channel's name in the contract. */
  readonly operation: string;
  readonly input: Input;
  readonly request: Request;
  readonly principal: unknown;
}

/**
 * Functions called on events of calls, streams and channels. Only `request` and `message` can refuse, by throwing `Refusal`. Any other
 * error of a hook goes to `onError` and changes nothing.
 */
export interface Hooks {
  /** Called before a handler, and before a reader joins a stream or channel again. May refuse the call, and may be async. */
  readonly request?: ((call: Called) => void | Promise<void>) | undefined;
  /** Called when a stream has sent its headers, or a channel is open. */
  readonly open?: ((call: Called) => void) | undefined;
  /**
   * Called for each message, received or to be sent. May refuse it by throwing `Refusal`. The handler does not see a refused message of
   * the client; the protocol's fault answers it. The handler's own is not sent: its `send` or `ask` throws, or its stream ends with the fault.
   */
  readonly message?: ((call: Called, message: AnyMessage, from: Side) => void) | undefined;
  /** Called for a message that the contract does not define. */
  readonly unknown?: ((call: Called, unknown: Unknown) => void) | undefined;
  /**
   * Called when an operation is answered without a stream, also with a refusal. A request that is refused before its operation and
   * input are known calls `refuse` alone; streams and channels call `open` and `close`.
   *
   * @example
   * ```ts
   * const hooks: Hooks = { done: ({ operation }, { status, duration }) => log({ operation, status, duration }) };
   * ```
   */
  readonly done?: ((call: Called, result: Done) => void) | undefined;
  /** Called when a request, or one message of a channel, is refused. `cause` is what was thrown. */
  readonly refuse?: ((request: Request, refusal: Refusal, cause: unknown, operation?: string) => void) | undefined;
  /** Called when a stream or channel is over: `done` by the protocol, `gone` by the peer, `failed` by an error. */
  readonly close?: ((call: Called, how: How) => void) | undefined;
}

/** The answer to an operation. */
export interface Done {
  readonly status: number;
  /** Milliseconds from the input to the answer, with `hooks.request` and the handler. */
  readonly duration: number;
}

/** How a stream or channel ended. */
export type How = "done" | "gone" | "failed";
