import type { Input } from "@parlance/wire";
import { timedOut } from "./disconnected.js";
import { lifetime, within } from "./lifetime.js";
import { ANSWER_WITHIN } from "./options.js";
import { discard, type Fields, type Requests } from "./request.js";

/** Ends the conversation of a key with one DELETE. Its answer is ignored. */
export function cancel({ ask }: Requests, name: string, input: Input, headers: Fields, keyed: Fields): void {
  const life = lifetime();
  const late = () => timedOut(name, ANSWER_WITHIN);
  within(life, () => ask("DELETE", name, input, headers, life, keyed), ANSWER_WITHIN, late).then(discard, () => {});
}
