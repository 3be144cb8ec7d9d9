import { connect } from "@parlance/client";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import type { OpenSocket, Port, Violation } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { calls } from "../../language/test/calls.js";

/** A contract with methods that was read at run time: its types are loose. */
export const contract = contractValue(assemble(calls()));

// biome-ignore lint/suspicious/noExplicitAny: frames and handlers of every form
type Loose = any;

/** A peer that writes frames itself, and reads those that it gets in order. */
export function rawPeer(port: Port) {
  const got: Loose[] = [];
  const waiting: ((frame: Loose) => void)[] = [];
  let ended!: (how: readonly [code: number, reason: string]) => void;
  const closed = new Promise<readonly [code: number, reason: string]>((resolve) => {
    ended = resolve;
  });
  port.listen({
    frame: (text) => {
      const frame = JSON.parse(text);
      const next = waiting.shift();
      if (next) next(frame);
      else got.push(frame);
    },
    close: (code, reason) => ended([code, reason]),
  });
  return {
    write: (text: string) => port.send(text),
    send: (frame: object) => port.send(JSON.stringify({ jsonrpc: "2.0", ...frame })),
    next: (): Promise<Loose> =>
      got.length > 0 ? Promise.resolve(got.shift()) : new Promise((resolve) => waiting.push(resolve)),
    unread: got,
    close: () => port.close(1000, ""),
    closed,
  };
}

/** The other end of one of our sides, and what that side reports. */
export interface Opened {
  readonly raw: ReturnType<typeof rawPeer>;
  /** Our side's own channel; on a server, the `call` of its handler `hello`. */
  readonly ours: Loose;
  readonly violations: Violation[];
  readonly unknown: unknown[];
  close(): Promise<void>;
}

/** Our client, with a raw server. */
export async function rawServer(handlers: Loose = {}, options: object = {}): Promise<Opened> {
  const [near, far] = pair();
  const raw = rawPeer(far);
  const violations: Violation[] = [];
  const unknown: unknown[] = [];
  const webSocket: OpenSocket = async () => near;
  const ours = await connect(contract, {
    webSocket,
    resume: false,
    onViolation: (violation) => void violations.push(violation),
    onUnknown: (one) => void unknown.push(one),
    ...options,
  }).talk(handlers);
  return { raw, ours, violations, unknown, close: () => ours.close() };
}

/** Our server, with a raw client. */
export async function rawClient(handlers: Loose = {}, options: object = {}): Promise<Opened> {
  const violations: Violation[] = [];
  const unknown: unknown[] = [];
  let begun!: (call: unknown) => void;
  const ours = new Promise<unknown>((resolve) => {
    begun = resolve;
  });
  const hello = (_: unknown, call: unknown) => {
    begun(call);
    return { version: 1 };
  };
  const app = serve(
    contract,
    { talk: { hello, ...handlers } },
    {
      partial: true,
      onError: false,
      hooks: {
        refuse: (_request, _refusal, cause) => void violations.push(cause as Violation),
        unknown: (_called, one) => void unknown.push(one),
      },
      ...options,
    },
  );
  const port = (await app.webSocket("ws://localhost/talk", { headers: {}, protocols: [], maxSize: 1e6 })) as Port;
  const raw = rawPeer(port);
  raw.send({ id: "begin", method: "hello", params: { version: 1 } });
  await raw.next();
  return { raw, ours: await ours, violations, unknown, close: () => app.close() };
}
