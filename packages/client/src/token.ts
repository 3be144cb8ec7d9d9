import { Disconnected, disconnected, Refusal } from "@parlance/wire/errors";
import { type Lifetime, within } from "./lifetime.js";

/** The token of a connection. A token function is called on first use, and again after a 401. */
export interface Tokens {
  /** Returns the token to send, or undefined without one. Rejects with `Disconnected` when the function fails. */
  current(life: Lifetime): Promise<string | undefined>;
  /** Drops a refused token. Returns whether another may be available. Several refusals of one token request one new token. */
  refused(token: string | undefined): boolean;
}

export function tokens(source: string | (() => string | Promise<string>) | undefined): Tokens {
  if (typeof source !== "function") return { current: async () => source, refused: () => false };
  let asked: Promise<string> | undefined;
  let value: string | undefined;
  return {
    async current(life) {
      asked ??= new Promise((resolve) => resolve(source()));
      const mine = asked;
      // A call that is aborted does not wait for it: without this, its failure would be an unhandled rejection.
      mine.catch(() => {});
      try {
        value = await within(life, () => mine);
      } catch (cause) {
        // A function that failed, or never settles, is called again by the next request.
        if (asked === mine) asked = undefined;
        life.signal.throwIfAborted();
        if (cause instanceof Refusal || cause instanceof Disconnected) throw cause;
        throw disconnected("the token function failed", "unreachable", true, cause);
      }
      return value;
    },
    refused(token) {
      // A later 401 for the same token finds the new one, or the request for it.
      if (token === value) asked = value = undefined;
      return true;
    },
  };
}
