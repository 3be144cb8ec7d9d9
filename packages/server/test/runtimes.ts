import type { Port } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import type { Apps } from "../src/apps.js";
import { listen as bunListen } from "../src/bun.js";
import { listen as denoListen } from "../src/deno.js";
import type { PemListenOptions, Served } from "../src/listening.js";
import type { StandardSocket } from "../src/web/port.js";
import { fetchOf } from "../src/workers.js";

// The parts of the interfaces of Deno, Bun and Cloudflare workers that the server uses, in memory. The programs themselves are tried with the packages.

/** What the runtime was called with, and what the test decides. */
export interface Runtime {
  /** A global name and what stands there. */
  readonly globals: Readonly<Record<string, unknown>>;
  /** Serves apps. A worker has no address, and so no `Served`. */
  serve(apps: Apps, options?: PemListenOptions): Promise<Served | undefined>;
  /** A request that arrives. */
  arrive(request: Request): Promise<Response | Opened>;
  /** Options that were given to the runtime, in the order of the calls. */
  readonly given: Record<string, unknown>[];
  /** What was called to close: "stop" for a graceful end, "cut" for the other. */
  readonly closing: string[];
  /** While true the runtime's own end never comes. */
  hangs: boolean;
  /** Thrown by the next call that binds an address. */
  fails: unknown;
  /** The peer leaves before its socket opens. */
  unopened: boolean;
}

/** A socket that the server has opened: the peer's end. */
export interface Opened {
  readonly protocol: string | undefined;
  readonly peer: Port;
  /** The code and reason that the server has given to the runtime. */
  readonly closed: [code: number, reason: string][];
  /** The socket fails, without a close. */
  fail(): void;
}

type Listener = (event: object) => void;

/** A standard socket on one end of a pair. As in browsers, it sends 1000 and 3000 to 4999 only. */
function standard(port: Port, closed: [number, string][]) {
  const listeners = new Map<string, Listener[]>();
  const emit = (type: string, event: object): void => {
    for (const listener of listeners.get(type) ?? []) listener(event);
  };
  const socket = {
    bufferedAmount: 7,
    send: (frame: string) => port.send(frame),
    close(code: number, reason: string) {
      if (code !== 1000 && !(code >= 3000 && code < 5000)) throw new RangeError("code");
      closed.push([code, reason]);
      port.close(code, reason);
    },
    addEventListener(type: string, listener: Listener) {
      listeners.set(type, [...(listeners.get(type) ?? []), listener]);
    },
  } as StandardSocket;
  port.listen({
    frame: (data) => emit("message", { data }),
    close: (code, reason) => emit("close", { code, reason }),
  });
  return { socket, emit };
}

type Handle = (request: Request, info: never) => Promise<Response | undefined>;

function base() {
  return { given: [] as Record<string, unknown>[], closing: [] as string[], hangs: false, fails: undefined as unknown };
}

export function deno(): Runtime {
  const opened = new WeakMap<Response, Opened>();
  let handle: Handle | undefined;
  const runtime: Runtime = {
    ...base(),
    unopened: false,
    globals: {
      Deno: {
        serve(options: Record<string, unknown>, given: Handle) {
          if (runtime.fails) throw runtime.fails;
          runtime.given.push(options);
          handle = given;
          return {
            addr: { port: 4321, hostname: options.hostname },
            shutdown: async () => {
              runtime.closing.push("stop");
              if (runtime.hangs) await new Promise(() => {});
            },
          };
        },
        upgradeWebSocket(_: Request, options: { readonly protocol?: string }) {
          runtime.given.push(options);
          const [here, peer] = pair();
          const closed: [number, string][] = [];
          const { socket, emit } = standard(here, closed);
          const response = new Response();
          queueMicrotask(() => emit(runtime.unopened ? "error" : "open", {}));
          opened.set(response, { protocol: options.protocol, peer, closed, fail: () => emit("error", {}) });
          return { socket, response };
        },
      },
    },
    serve: (apps, options) => denoListen(apps, options),
    async arrive(request) {
      let rejected: (reason: unknown) => void = () => {};
      const completed = new Promise<void>((_, reject) => (rejected = reject));
      request.signal.addEventListener("abort", () => rejected(new Error("gone")));
      const response = (await handle!(request, { completed } as never))!;
      return opened.get(response) ?? response;
    },
  };
  return runtime;
}

interface BunHandlers {
  open(socket: object): void;
  message(socket: object, data: unknown): void;
  close(socket: object, code: number, reason: string): void;
}

export function bun(): Runtime {
  let handle: Handle | undefined;
  let upgraded: Opened | undefined;
  const runtime: Runtime = {
    ...base(),
    unopened: false,
    globals: {
      Bun: {
        serve(options: Record<string, unknown>) {
          if (runtime.fails) throw runtime.fails;
          runtime.given.push(options);
          handle = options.fetch as Handle;
          return {
            port: 4321,
            stop: async (cut = false) => {
              runtime.closing.push(cut ? "cut" : "stop");
              if (runtime.hangs && !cut) await new Promise(() => {});
            },
          };
        },
      },
    },
    serve: (apps, options) => bunListen(apps, options),
    async arrive(request) {
      const { websocket } = runtime.given.at(-1) as { readonly websocket: BunHandlers };
      const timeouts: number[] = [];
      const server = {
        timeout: (_: Request, seconds: number) => timeouts.push(seconds),
        upgrade(_: Request, { data, headers }: { data: object; headers?: Record<string, string> }) {
          if (runtime.unopened) return false;
          const [here, peer] = pair();
          const closed: [number, string][] = [];
          const { socket } = standard(here, closed);
          const made = {
            data,
            send: (frame: string) => {
              socket.send(frame);
              return closed.length > 0 ? 0 : frame.length;
            },
            close: (code: number, reason: string) => {
              closed.push([code, reason]);
              here.close(code, reason);
            },
            getBufferedAmount: () => 7,
          };
          socket.addEventListener("message", ({ data }) => websocket.message(made, data));
          socket.addEventListener("close", ({ code, reason }) => websocket.close(made, code, reason));
          upgraded = {
            protocol: headers?.["Sec-WebSocket-Protocol"],
            peer,
            closed,
            fail: () => websocket.close(made, 1006, ""),
          };
          queueMicrotask(() => websocket.open(made));
          return true;
        },
      };
      const response = await handle!(request, server as never);
      // Ten idle seconds would end a stream.
      if (response?.ok && timeouts[0] !== 0) throw new Error("the answer keeps the runtime's idle limit");
      return response ?? upgraded!;
    },
  };
  return runtime;
}

export function worker(): Runtime {
  let fetch: ((request: Request) => Promise<Response>) | undefined;
  let opened: Opened | undefined;
  const Real = globalThis.Response;
  const runtime: Runtime = {
    ...base(),
    unopened: false,
    globals: {
      WebSocketPair: function Pair(this: Record<number, unknown>) {
        const [here, peer] = pair();
        const closed: [number, string][] = [];
        let accepted = false;
        const { socket, emit } = standard(here, closed);
        opened = { protocol: undefined, peer, closed, fail: () => emit("error", {}) };
        this[0] = opened;
        const { send } = socket;
        this[1] = Object.assign(socket, {
          accept() {
            accepted = true;
          },
          send(frame: string) {
            if (!accepted) throw new Error("not accepted");
            send(frame);
          },
          // A worker's socket has no count of queued bytes.
          bufferedAmount: undefined,
        });
      },
      Response: new Proxy(Real, {
        construct: (Made, [body, init]: [BodyInit | null, ResponseInit & { webSocket?: Opened }]) =>
          init?.status === 101
            ? { ...init.webSocket!, protocol: new Headers(init.headers).get("Sec-WebSocket-Protocol") ?? undefined }
            : new Made(body, init),
      }),
    },
    async serve(apps) {
      fetch = fetchOf(apps);
      return undefined;
    },
    arrive: async (request) => (await fetch!(request)) as Response | Opened,
  };
  return runtime;
}
