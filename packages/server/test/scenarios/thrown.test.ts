import { inspect } from "node:util";
import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { type App, Refusal, type ServeOptions, serve } from "@parlance/server";
import { expect, onTestFinished, test, vi } from "vitest";

// What users' code throws may be anything, and reading it may throw again.

const fail = (): never => {
  throw new Error("it cannot be read");
};
const kinds: Record<string, () => unknown> = {
  "an error that cannot be printed": () => Object.assign(new Error("x"), { [inspect.custom]: fail }),
  "an error without a readable message": () => Object.defineProperty(new Error("x"), "message", { get: fail }),
  "a refusal without a readable message": () =>
    Object.defineProperty(new Refusal("x", { status: 404 }), "message", { get: fail }),
  "a proxy whose traps throw": () => new Proxy({}, { get: fail, getPrototypeOf: fail, has: fail, ownKeys: fail }),
  undefined: () => undefined,
  null: () => null,
  "a symbol": () => Symbol("s"),
};

type Throw = () => never;
const places: Record<string, (thrown: Throw) => { handlers?: object; options?: ServeOptions }> = {
  "the handler of an operation": (health) => ({ handlers: { health } }),
  "the handler of a stream": (send) => ({ handlers: { send } }),
  "a stream's first step": (thrown) => ({
    handlers: {
      send: async function* () {
        yield thrown();
      },
    },
  }),
  "a stream's later step": (thrown) => ({
    handlers: {
      send: async function* () {
        yield { type: "text", text: "a" };
        thrown();
      },
    },
  }),
  "the handler of a channel": (stream) => ({ handlers: { stream } }),
  authenticate: (authenticate) => ({ options: { authenticate } }),
  onError: (onError) => ({ handlers: { health: onError, send: onError, stream: onError }, options: { onError } }),
  ...Object.fromEntries(
    (["request", "open", "message", "done", "refuse", "close", "unknown"] as const).map((hook) => [
      `hooks.${hook}`,
      (thrown: Throw) => ({ options: { hooks: { [hook]: thrown } } }),
    ]),
  ),
};

const working = {
  health: () => "OK",
  async *send() {
    yield { type: "done", full_response: "" };
  },
  stream: () => {},
};

/** Calls everything, whatever comes of it: each call settles. */
async function callAll(handlers: object, options: ServeOptions): Promise<App[]> {
  const all = { allowAnonymous: true, ...options };
  const gateway = serve(foldGateway, { ...working, ...handlers } as never, all);
  const channels = serve(loco, { ...working, ...handlers } as never, all);
  const client = connect(foldGateway, { fetch: gateway.fetch, retryWaits: [] });
  const open = { client_info: { name: "test", version: "1", capabilities: [] } };
  const streamed = async (): Promise<void> => {
    for await (const _ of client.send({ content: "x" }));
  };
  const talked = async (): Promise<void> => {
    const { fetch, webSocket } = channels;
    const channel = await connect(loco, { fetch, webSocket, resume: false }).stream({ session_id: "s" }, { open });
    await channel.closed;
  };
  await Promise.allSettled([client.health(), streamed(), talked()]);
  return [gateway, channels];
}

test.each(Object.keys(places).flatMap((place) => Object.keys(kinds).map((kind) => ({ place, kind }))))(
  "$kind, thrown by $place, ends its own call only",
  async ({ place, kind }) => {
    vi.spyOn(console, "error").mockImplementation((_, error) => void inspect(error));
    onTestFinished(() => void vi.restoreAllMocks());
    const { handlers = {}, options = {} } = places[place]!(() => {
      throw kinds[kind]!();
    });
    for (const app of await callAll(handlers, options))
      await vi.waitFor(() => expect(app.stats()).toMatchObject({ channels: 0, readers: 0, places: 0 }));
  },
);
