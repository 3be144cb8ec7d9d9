import type { Scope } from "@parlance/wire/scope";
import type { Limits } from "../limits.js";
import type { EventWriter } from "./event-log.js";

/**
 * Reserves the names of cancelled streams for a time, so that a copy of a request, or one that comes after its cancel, does not begin the
 * stream. The oldest go first.
 */
export interface Tombstones {
  /** Closes a stream, forgets its entries up to `last`, and drops it later. Rejects where the log cannot be told. */
  mark(writer: EventWriter, last: number): Promise<void>;
}

export function tombstones({ tombstoneLife, maxTombstones }: Limits, root: Scope): Tombstones {
  const scopes = new Set<Scope>();
  root.measure("tombstones", () => scopes.size);
  return {
    async mark(writer, last) {
      const scope = root.child();
      scopes.add(scope);
      scope.add(() => {
        scopes.delete(scope);
        return writer.drop();
      });
      scope.timeout(tombstoneLife, () => scope.close());
      if (scopes.size > maxTombstones) scopes.values().next().value?.close();
      await writer.close();
      await writer.trim(last);
    },
  };
}

/**
 * Keeps the names of dropped streams, so that a request that is sent again later does not begin one a second time. The oldest go first
 * above `most`.
 */
export interface OverNames {
  add(name: string): void;
  has(name: string): boolean;
}

export function overNames(most: number): OverNames {
  const names = new Set<string>();
  return {
    add(name) {
      names.add(name);
      if (names.size > most) names.delete(names.values().next().value!);
    },
    has: (name) => names.has(name),
  };
}
