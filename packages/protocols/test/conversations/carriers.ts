import { type ConnectOptions, connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type App, type ServeOptions, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import type { AnyMessage, ContractValue } from "@parlance/wire";
import { describe, onTestFinished } from "vitest";

/** How a client reaches an app: the options of `connect` that lead there. */
export type Carrier = (app: App) => Promise<ConnectOptions>;

async function inMemory(app: App): Promise<ConnectOptions> {
  onTestFinished(() => app.close());
  return { baseUrl: "http://localhost", fetch: app.fetch, webSocket: app.webSocket };
}

async function overSockets(app: App): Promise<ConnectOptions> {
  const server = await listen(app, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  return { baseUrl: server.url, webSocket };
}

/** The same conversations twice: without a socket and with real ones. */
export function overEachCarrier(protocol: string, conversations: (carrier: Carrier) => void): void {
  describe(`${protocol}, in memory`, () => conversations(inMemory));
  describe(`${protocol}, over sockets`, () => conversations(overSockets));
}

export interface Held<C> {
  readonly client: C;
  readonly app: App;
  readonly connection: ConnectOptions;
  /** What the hooks saw, in order. */
  readonly seen: string[];
}

/** Serves the handlers and connects to them; all of it ends with the test. */
export async function hold<C, H>(
  carrier: Carrier,
  contract: ContractValue<C, H>,
  handlers: H,
  { served, connected }: { served?: ServeOptions; connected?: ConnectOptions } = {},
): Promise<Held<C>> {
  const seen: string[] = [];
  const app = serve(contract as ContractValue<unknown, H>, handlers, {
    allowAnonymous: true,
    hooks: {
      request: ({ operation }) => void seen.push(`request ${operation}`),
      open: ({ operation }) => void seen.push(`open ${operation}`),
      message: (_, message, from) => void seen.push(`${from} ${message.type}`),
      unknown: ({ operation }) => void seen.push(`unknown in ${operation}`),
      refuse: (_, refusal, __, operation) => void seen.push(`refuse ${operation} ${refusal.status}`),
      close: ({ operation }, how) => void seen.push(`close ${operation} ${how}`),
    },
    ...served,
  });
  const connection = { ...(await carrier(app)), retryWaits: [], ...connected };
  const client = connect(contract as ContractValue<C, unknown>, connection);
  return { client, app, connection, seen };
}

/** Everything that a stream or channel says. */
export async function all<M extends AnyMessage>(messages: AsyncIterable<M>): Promise<M[]> {
  const heard: M[] = [];
  for await (const message of messages) heard.push(message);
  return heard;
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A promise and what settles it. */
export function deferred<T = void>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
