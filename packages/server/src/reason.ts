import { Disconnected } from "@parlance/wire";

// Why a handler's signal is aborted: cancel and disconnect are different things, and a handler may tell them apart.

/** The caller has said so: by leaving its loop, by its signal, by `cancel()` or `close()`. */
export function cancelled(): DOMException {
  return new DOMException("the caller has cancelled", "AbortError");
}

/** Nobody has said anything, and nobody is there any more. */
export function gone(): Disconnected {
  return new Disconnected("the caller has gone", { code: "closed", retryable: false });
}

export function closing(): DOMException {
  return new DOMException("the server is closing", "AbortError");
}
