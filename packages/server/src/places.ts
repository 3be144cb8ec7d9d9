import { Refusal } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import type { OwnerOf } from "./identity.js";
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
export function places(options: ServeOptions, maxStreams: number, ownerOf: OwnerOf): Places {
  const taken = new Map<string, number>();
  return {
    take(principal, of, scope) {
      if (!options.authenticate || scope.closed) return;
      const limit = of === "stream" ? maxStreams : 2 * maxStreams;
      const name = `${of} ${ownerOf(principal)}`;
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
