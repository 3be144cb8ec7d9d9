import { Disconnected, type DisconnectedCode, type Gap } from "@parlance/wire";

/** `Disconnected` by position: it is made in many places of a page's code. */
export function disconnected(what: string, code: DisconnectedCode, retryable: boolean, cause?: unknown): Disconnected {
  return new Disconnected(what, { code, retryable, cause });
}

/** The error of a limit that was reached. */
export function timedOut(what: string, limit: number, retryable = true): Disconnected {
  return disconnected(`${what}: nothing came within ${limit} ms`, "timeout", retryable);
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
