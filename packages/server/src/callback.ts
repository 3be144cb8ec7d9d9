import { type AnyMessage, Refusal, type Side, type Unknown, Violation } from "@parlance/wire";
import { violationLog } from "@parlance/wire/rpc";
import { isThenable, type Scope, within } from "@parlance/wire/scope";
import type { CallbackOptions, Called, ErrorContext, How } from "./hooks.js";
import type { HttpRequest } from "./http/request.js";
import type { Limits } from "./limits.js";

/** What has a request: a call, or the request itself before anything is known of it. */
export type Requested = Pick<Called, "request">;

/** Calls the user's callbacks. None of them can end the process, or a stream that it may not refuse. */
export interface Callbacks {
  /** Resolves to the principal. Rejects with the error of `authenticate`, with `Refusal` (401) without a principal, with `TypeError` for one without an identity. */
  authenticate(scope: Scope, request: HttpRequest): Promise<unknown> | undefined;
  /** Calls `hooks.request`, which may refuse: rejects with its error. */
  request(scope: Scope, called: Called): Promise<void> | undefined;
  /** Returns the `Refusal` that `hooks.message` threw; nothing else refuses. */
  message(called: Called, message: AnyMessage, from: Side): Refusal | undefined;
  open(called: Called): void;
  /** Calls `hooks.done` with the time since `began`, of `performance.now()`. */
  done(called: Called, status: number, began: number): void;
  unknown(called: Called, unknown: Unknown): void;
  refuse(of: Requested, refusal: Refusal, cause: unknown, operation?: string): void;
  /** The same for a frame of a channel that breaks the contract. */
  refuseFrame(called: Called, refusal: Refusal, violation: Violation): void;
  close(called: Called, how: How): void;
  /** Hands an error to `onError`. */
  report(error: unknown, source: string, operation?: string): void;
}

/** `identify` throws for a principal without an identity: it is refused now, not when it begins its first stream. */
export function callbacks(
  options: CallbackOptions,
  limits: Limits,
  identify: (principal: unknown) => unknown = () => {},
): Callbacks {
  const { hooks = {} } = options;
  const report = reporter(options.onError);
  const log = violationLog("@parlance/server");

  /** Calls a hook that decides nothing. */
  function notify(source: string, operation: string | undefined, call: (() => unknown) | undefined): void {
    invoke(call, (error) => report(error, source, operation));
  }

  /** Prints a violation that no hook of the user gets. */
  function warn(violation: Violation, operation = "a message"): void {
    if (!hooks.refuse && !options.onError && options.onError !== false) log(violation, operation);
  }

  function refused({ request }: Requested, refusal: Refusal, cause: unknown, operation?: string): void {
    notify("hooks.refuse", operation, hooks.refuse && (() => hooks.refuse?.(request, refusal, cause, operation)));
  }

  async function authenticate(scope: Scope, request: HttpRequest): Promise<unknown> {
    const principal = await within(scope, limits.authenticateWithin, "authenticate", () =>
      options.authenticate?.(request.request),
    );
    if (principal === undefined || principal === null || principal === false)
      throw new Refusal("valid credentials are needed", { status: 401 });
    identify(principal);
    return principal;
  }

  return {
    report,
    authenticate: (scope, request) => (options.authenticate ? authenticate(scope, request) : undefined),
    request(scope, called) {
      if (!hooks.request) return undefined;
      return within(scope, limits.hookWithin, "hooks.request", () => hooks.request?.(called));
    },
    message(called, message, from) {
      if (!hooks.message) return undefined;
      let refusal: Refusal | undefined;
      invoke(
        () => hooks.message?.(called, message, from),
        (error, thrown) => {
          if (thrown && readThrown(() => error instanceof Refusal, false)) refusal = error as Refusal;
          else report(error, "hooks.message", called.operation);
        },
      );
      return refusal;
    },
    open: (called) => notify("hooks.open", called.operation, hooks.open && (() => hooks.open?.(called))),
    done: (called, status, began) =>
      notify(
        "hooks.done",
        called.operation,
        hooks.done && (() => hooks.done?.(called, { status, duration: performance.now() - began })),
      ),
    unknown: (called, unknown) =>
      notify("hooks.unknown", called.operation, hooks.unknown && (() => hooks.unknown?.(called, unknown))),
    refuse(of, refusal, cause, operation) {
      // A body that is no message at all comes from scanners rather than from clients, and its error quotes it.
      if (isOfClient(cause) && cause.code === "schema") warn(cause, operation);
      refused(of, refusal, cause, operation);
    },
    refuseFrame(called, refusal, violation) {
      warn(violation, called.operation);
      refused(called, refusal, violation, called.operation);
    },
    close: (called, how) => notify("hooks.close", called.operation, hooks.close && (() => hooks.close?.(called, how))),
  };
}

/** A promise that its caller may ignore: a rejection must not end the process. */
export function ignorable<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Calls a user's callback; nothing else does. `fail` gets what it throws or later rejects with. */
export function invoke(call: (() => unknown) | undefined, fail: (error: unknown, thrown: boolean) => void): void {
  try {
    const done = call?.();
    if (isThenable(done)) done.then(undefined, (error) => fail(error, false));
  } catch (error) {
    fail(error, true);
  }
}

const isOfClient = (error: unknown): error is Violation =>
  readThrown(() => error instanceof Violation && error.side === "client", false);

function reporter(onError: CallbackOptions["onError"]): Callbacks["report"] {
  if (onError === false) return () => {};
  const say = (error: unknown, { source, operation }: ErrorContext): void => {
    const what = `@parlance/server: ${source}${operation === undefined ? "" : ` of ${operation}`} failed:`;
    // Printing reads the error, which may throw: nothing is behind this.
    const printed = readThrown(() => {
      console.error(what, error);
      return true;
    }, false);
    if (!printed) readThrown(() => console.error(what, "an error that cannot be printed"), undefined);
  };
  return (error, source, operation) => {
    const context: ErrorContext = { source, ...(operation !== undefined && { operation }) };
    if (!onError) return say(error, context);
    // What `onError` itself throws has nowhere else to go.
    invoke(
      () => onError(error, context),
      (thrown) => say(thrown, { source: "onError", operation }),
    );
  };
}

/** Reads from a thrown value. Returns `otherwise` where a getter or proxy trap throws. */
export function readThrown<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
