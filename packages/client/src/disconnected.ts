import type { Gap } from "@parlance/wire";
import { Disconnected, disconnected } from "@parlance/wire/errors";

/** Creates the error of an exceeded time limit. */
export function timedOut(what: string, limit: number, retryable = true): Disconnected {
  return disconnected(`${what}: nothing came within ${Math.round(limit)} ms`, "timeout", retryable);
}

/** Messages that were missed and are no longer kept. */
export function gap(what: string, missing: Gap, cause?: unknown): Disconnected {
  return new Disconnected(`${what}: messages after ${missing.after} are gone`, {
    code: "gap",
    retryable: false,
    missing,
    cause,
  });
}
