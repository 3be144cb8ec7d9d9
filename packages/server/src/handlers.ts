import { type AnyContract, misuse, Refusal } from "@parlance/wire";
import type { Context, Handlers } from "./call.js";

/** @throws `TypeError` that names each handler that is missing, or is no function. With `partial` some may be missing. */
export function checkHandlers({ name, operations, channels }: AnyContract, handlers: Handlers, partial: boolean): void {
  if (typeof handlers !== "object" || handlers === null) throw misuse(`serve(${name}) needs an object of handlers`);
  const wrong = [...Object.keys(operations), ...Object.keys(channels)].flatMap((of) => {
    const handler: unknown = handlers[of];
    if (typeof handler === "function") return [];
    if (handler !== undefined) return [`\`${of}\` must be a function, not ${typeof handler}`];
    return partial ? [] : [`\`${of}\` is missing`];
  });
  if (wrong.length > 0)
    throw misuse(`the handlers of ${name}: ${wrong.join(", ")}. To leave some out on purpose, set \`partial: true\``);
}

/** @throws `Refusal` (501) for an operation or a channel whose handler was left out. */
export function refuseLeftOut({ contract: { operations, channels }, handlers }: Context, name: string): void {
  const { path } = operations[name] ?? channels[name]!;
  if (!handlers[name]) throw new Refusal(`${name} at ${path} is not offered here`, { status: 501 });
}
