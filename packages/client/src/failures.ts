import type { AnyContract } from "@parlance/wire";
import { brief, type Disconnected, disconnected, MAX_QUOTED, quoteBody, Refusal } from "@parlance/wire/errors";
import type { Failure, Refused, Why } from "./causes.js";

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

/** The likely cause of a failure. Empty when the table of causes cannot be loaded, as on an offline page. */
export const why = (failure: Failure): Promise<Why> =>
  import("./causes.js").then(
    ({ causeOf }) => causeOf(failure),
    () => ({ says: "" }),
  );

/** Reads a refusal. Only its status is known when the code that reads it cannot be loaded. */
export const refusalOf = (contract: AnyContract, refused: Refused): Promise<Refusal> =>
  import("./causes.js").then(
    ({ refusal }) => refusal(contract, refused),
    ({ message }) => {
      const { status, body } = refused;
      const { text, details = text ? { body: text } : undefined } = quoteBody(body);
      return new Refusal(`status ${status}, its reason not read: ${brief(message, MAX_QUOTED)}`, {
        status,
        bare: !body,
        details,
      });
    },
  );
