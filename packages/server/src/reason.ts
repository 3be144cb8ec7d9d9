import { Disconnected, Refusal } from "@parlance/wire";

// Reasons of a handler's signal. A cancelled call and a lost connection are different things, and a handler can tell them apart.

/** The caller ended the call: it left its loop, aborted its signal, or called `cancel()` or `close()`. */
export function cancelled(): DOMException {
  return new DOMException("the caller has cancelled", "AbortError");
}

/** The connection was lost. */
export function gone(): Disconnected {
  return new Disconnected("the caller has gone", { code: "closed", retryable: false });
}

/** The server is closing. */
export function closing(): DOMException {
  return new DOMException("the server is closing", "AbortError");
}

/** The handler of a stream is done and has sent nothing, which its contract has an answer for. Nobody sees it. */
export const NO_MESSAGES = new Error("the handler has sent no message");

/** The event log failed. The caller may try again, and a reader come back. */
export function logFailed(cause?: unknown): Disconnected {
  return new Disconnected("the event log failed", { code: "unreachable", retryable: true, cause });
}

/** The reason of a close frame, after `app.revoke`. */
export const REVOKED = "revoked";

const revocations = new WeakSet<object>();

/** The app has revoked the caller's principal. */
export function revoked(): Refusal {
  const reason = new Refusal("this principal was revoked", { status: 401 });
  revocations.add(reason);
  return reason;
}

export function isRevoked(reason: unknown): reason is Refusal {
  return revocations.has(Object(reason));
}
