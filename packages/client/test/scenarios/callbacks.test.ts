import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { expect, it } from "vitest";

// Each function that a caller gives to the client throws: the call it belongs to fails with that error, or has it as its cause.

const boom = new Error("boom");
const fails = (): never => {
  throw boom;
};
type Callback = {
  [K in keyof ConnectOptions]-?: NonNullable<ConnectOptions[K]> extends (...args: never[]) => unknown ? K : never;
}[keyof ConnectOptions];

/** A server that sends one event and ends. */
const saying = (event: string): ConnectOptions => ({
  fetch: async () => new Response(`data: ${event}\n\n`, { headers: { "Content-Type": "text/event-stream" } }),
});
async function read(options: ConnectOptions, reopen?: true | (() => void)): Promise<void> {
  // The attempts that emacs-agent documents wait 14 s in all.
  const client = connect(emacsAgent, { retryWaits: [], ...options });
  for await (const _ of client.events({ session_id: "s" }, reopen && { reopen }));
}
const idle = '{"type":"agent.state","state":"idle"}';

/** One row for each option that is a function, held by the type, and for those of a call. */
const calls: Readonly<Record<Callback | "token" | "reopen", () => Promise<unknown>>> = {
  token: () => read({ ...saying(idle), token: fails }),
  fetch: () => read({ fetch: fails }),
  webSocket: () => connect(based, { webSocket: fails, resume: false }).session(),
  onUnknown: () => read({ ...saying('{"type":"new"}'), onUnknown: fails }),
  onConnection: () => read({ ...saying(idle), onConnection: fails }),
  onViolation: () => read({ ...saying('{"type":"agent.state"}'), onViolation: fails }),
  random: () => read({ ...saying(idle), random: fails }, true),
  reopen: () => read(saying(idle), fails),
};

it.each(Object.entries(calls))("what `%s` throws reaches the caller", async (_, call) => {
  const error = await call().then(
    () => undefined,
    (error: Error) => error,
  );
  expect([error, error?.cause]).toContain(boom);
});
