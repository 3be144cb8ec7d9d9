import { misuse, Refusal } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { invoke } from "./callback.js";
import type { ServeOptions } from "./options.js";

/** How many streams, channels and readers each principal has open. */
export interface Places {
  /** Takes a place until the scope closes. Throws `Refusal` (429) where the principal has none left. */
  take(principal: unknown, of: "stream" | "reader", scope: Scope): void;
}

/**
 * Counts streams and channels up to `maxStreams` a principal, and readers of resumable streams up to twice as many: a reader that was cut
 * may join again before the server has noticed the cut.
 */
export function places(options: ServeOptions, maxStreams: number): Places {
  const taken = new Map<string, number>();
  return {
    take(principal, of, scope) {
      if (!options.authenticate || scope.closed) return;
      const limit = of === "stream" ? maxStreams : 2 * maxStreams;
      const name = `${of} ${nameOf(options, principal)}`;
      const count = taken.get(name) ?? 0;
      if (count >= limit)
        throw new Refusal(`no more than ${limit} ${of}s may be open at a time (option maxStreams)`, {
          status: 429,
          retryAfter: 1,
        });
      taken.set(name, count + 1);
      scope.add(() => {
        const left = taken.get(name)! - 1;
        if (left > 0) taken.set(name, left);
        else taken.delete(name);
      }, "places");
    },
  };
}

/** Names a principal. Throws `TypeError` for an object without an `id` whose JSON is empty. */
export function nameOf({ identify }: ServeOptions, principal: unknown): string {
  if (identify) {
    const name: unknown = identify(principal);
    if (typeof name === "string") return name;
    // The rejection of a promise would end the process.
    invoke(
      () => name,
      () => {},
    );
    throw misuse(`identify must return a string at once, not ${name instanceof Promise ? "a promise" : typeof name}`);
  }
  if (typeof principal !== "object" || principal === null) return JSON.stringify(principal) ?? "";
  const { id } = principal as { id?: unknown };
  const name = id === undefined ? JSON.stringify(principal) : JSON.stringify({ id });
  if (name === undefined || name === "{}")
    throw misuse("this principal has no `id`, and its JSON is empty: pass `identify` to `serve`");
  return name;
}
