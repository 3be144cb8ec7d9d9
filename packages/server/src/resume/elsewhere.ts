import type { Refusal } from "@parlance/wire";
import { type Scope, until } from "@parlance/wire/scope";
import type { Context } from "../call.js";
import { headersDueAfter } from "../limits.js";
import type { RemoteStreams } from "../ports.js";
import type { Readers } from "./readers.js";

/**
 * Waits for the first message of a stream on another server, which reports a refusal: throws it. Returns false where the stream ends
 * without a message.
 */
export async function beginsElsewhere(
  { limits }: Context,
  remote: RemoteStreams | undefined,
  readers: Readers,
  name: string,
  call: Scope,
): Promise<boolean> {
  const waiting = call.child("readers");
  let refuse = (_: Refusal): void => {};
  const refused = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  refused.catch(() => {});
  try {
    await remote?.listen(name, waiting, { refused: refuse });
    const first = readers.read(undefined, name, 0, waiting).next();
    const over = first.catch(() => ({ done: true }));
    const step = await until(waiting.child(), headersDueAfter(limits), Promise.race([over, refused]));
    // The refusal is on its way.
    if (step?.done) await until(waiting.child(), limits.queryWithin, refused);
    return !step?.done;
  } finally {
    waiting.close();
  }
}
