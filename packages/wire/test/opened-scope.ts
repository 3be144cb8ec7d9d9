import { Scope, totals } from "../src/scope.js";

export function opened() {
  const failures: unknown[] = [];
  const scope = Scope.open((error) => failures.push(error));
  return { scope, failures };
}

export const zero = Object.fromEntries(Object.keys(totals()).map((gauge) => [gauge, 0]));

export function fail(): never {
  throw new Error("failed");
}
