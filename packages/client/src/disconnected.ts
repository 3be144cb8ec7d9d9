import { type Disconnected, disconnected } from "@parlance/wire/errors";

/** Creates the error of an exceeded time limit. */
export function timedOut(what: string, limit: number, retryable = true): Disconnected {
  return disconnected(`${what}: nothing came within ${Math.round(limit)} ms`, "timeout", retryable);
}

/** Turns the failure of a dynamic import, such as on a page that is offline, into an error of the call. */
export function unloaded(cause: Error, retryable = true): never {
  throw disconnected(`code could not be loaded: ${cause.message}`, "unreachable", retryable, cause);
}

/** The same, once the server may have done what was asked. */
export const unloadedLate = (cause: Error): never => unloaded(cause, false);
