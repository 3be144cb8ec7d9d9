import type { Input } from "@parlance/wire";
import { disconnected, Violation } from "@parlance/wire/errors";
import { timedOut } from "./failures.js";
import { type Lifetime, lifetime, within } from "./lifetime.js";
import { ANSWER_WITHIN, IDLE_TIMEOUT, MAX_MESSAGE_SIZE } from "./options.js";
import type { Fields, Requests } from "./request.js";
import { discard } from "./response.js";

/** Characters read of a refusal's body. */
const MAX_QUOTE = 64 * 1024;

/**
 * Reads a body as text, each chunk within the idle time-out. Throws `Violation` above `maxMessageSize`; with `quote` it returns
 * the first 64 Ki characters instead.
 */
export async function readText(
  { contract: { name: protocol }, connection }: Requests,
  { body }: Response,
  subject: string,
  life: Lifetime,
  quote?: boolean,
): Promise<string> {
  if (!body) return "";
  const { maxMessageSize = MAX_MESSAGE_SIZE, idleTimeout = IDLE_TIMEOUT } = connection;
  const limit = quote ? MAX_QUOTE : maxMessageSize;
  const what = `${protocol}.${subject}`;
  const decoder = new TextDecoder();
  const bytes = body.getReader();
  const idle = () => disconnected(`${what}: nothing came within ${idleTimeout} ms`, "idle", false);
  let text = "";
  try {
    for (;;) {
      const { done, value } = await within(life, () => bytes.read(), idleTimeout, idle);
      if (done) return text + decoder.decode();
      text += decoder.decode(value, { stream: true });
      if (text.length <= limit) continue;
      if (quote) return text;
      const over = `the answer is over the limit of ${limit} characters`;
      throw new Violation(over, { code: "too_large", protocol, side: "server", subject });
    }
  } catch (cause) {
    life.signal.throwIfAborted();
    if (quote) return text;
    throw cause instanceof Violation ? cause : disconnected(`${what}: the answer was cut`, "ended_early", false, cause);
  } finally {
    bytes.cancel().catch(() => {});
  }
}

/** Ends the conversation of a key with one DELETE. Its answer is ignored. */
export function cancel({ ask }: Requests, name: string, input: Input, headers: Fields, keyed: Fields): void {
  const life = lifetime();
  const late = () => timedOut(name, ANSWER_WITHIN);
  within(life, () => ask("DELETE", name, input, headers, life, keyed), ANSWER_WITHIN, late).then(discard, () => {});
}
