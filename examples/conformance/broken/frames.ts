import type { Breaks, Frame } from "./proxy.js";

// The frames of a channel, as a broken peer reads and changes them.

export const text = ({ payload }: Frame): string => payload.toString();

export const parses = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export const methodIn = (frame: Frame) => (parses(text(frame)) as { readonly method?: string } | undefined)?.method;

/** Gives each answer of a client the id of the oldest request of the server. */
export function inOrder(): NonNullable<Breaks["frame"]> {
  let open: unknown[] = [];
  return (frame, from) => {
    const body = parses(text(frame)) as { readonly id?: unknown; readonly method?: string } | undefined;
    if (body?.id === undefined) return [frame];
    // Each case begins with a request of the client.
    if (from === "client" && body.method !== undefined) open = [];
    if (from === "server" && body.method !== undefined) open.push(body.id);
    if (from === "server" || body.method !== undefined) return [frame];
    return [{ ...frame, payload: Buffer.from(JSON.stringify({ ...body, id: open.shift() ?? body.id })) }];
  };
}
