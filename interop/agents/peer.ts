import * as official from "@agentclientprotocol/sdk";
import { acp } from "@parlance/protocols/acp";
import { Refusal } from "@parlance/wire";
import { type Json, methods } from "./samples.js";

// Handlers and calls as both SDKs can have them, so that each test runs with either SDK on either side.

/** The other side of a conversation. */
export interface Peer {
  call(method: string, params: Json, signal?: AbortSignal): Promise<Json>;
  notify(method: string, params: Json): Promise<unknown>;
}

export type Handlers = Readonly<Record<string, (params: Json, peer: Peer, signal: AbortSignal) => unknown>>;

/** An error of JSON-RPC. */
export class Fault extends Error {
  readonly code: number;
  readonly data: Json;
  constructor(code: number, message: string, data?: Json) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

const CODES: Readonly<Record<string, number>> = {
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal_error: -32603,
  request_cancelled: -32800,
  auth_required: -32000,
  resource_not_found: -32002,
};

/** Calls of Parlance. */
export function ourPeer({ call, notify }: Json): Peer {
  return {
    call: (method, params, signal) =>
      call(method, params, { signal }).catch((error: unknown) => {
        if (!(error instanceof Refusal)) throw error;
        throw new Fault(CODES[error.code] ?? Number(error.code), error.message, error.details);
      }),
    notify,
  };
}

/** Handlers of Parlance. */
export function ourHandlers(handlers: Handlers): Json {
  const wrapped = Object.entries(handlers).map(([method, handler]) => [
    method,
    async (params: Json, call: Json) => {
      try {
        return await handler(params, ourPeer(call), call.signal);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        const code = Object.keys(CODES).find((word) => CODES[word] === error.code) ?? String(error.code);
        throw new Refusal(error.message, { code, details: error.data });
      }
    },
  ]);
  return Object.fromEntries(wrapped);
}

/** Calls of the official SDK. */
export function officialPeer(context: official.AgentContext | official.ClientContext): Peer {
  const { request, notify } = context as { request: Json; notify: Json };
  return {
    call: async (method, params, cancellationSignal) => {
      try {
        return await request.call(context, method, params, { cancellationSignal });
      } catch (error) {
        if (!(error instanceof official.RequestError)) throw error;
        throw new Fault(error.code, error.message, error.data);
      }
    },
    notify: (method, params) => notify.call(context, method, params),
  };
}

/** Gives handlers to an app of the official SDK. */
export function officialApp<A extends official.AgentApp | official.ClientApp>(app: A, handlers: Handlers): A {
  const known = methods();
  const { onRequest, onNotification } = app as Json;
  for (const [method, handler] of Object.entries(handlers)) {
    const wrapped = async ({ params, client, agent, signal }: Json) => {
      try {
        return await handler(params, officialPeer(client ?? agent), signal);
      } catch (error) {
        throw error instanceof Fault ? new official.RequestError(error.code, error.message, error.data) : error;
      }
    };
    const own = known.find(({ name }) => name === method);
    const isNotice = own ? own.results === undefined : method.endsWith("/notice");
    const register = isNotice ? onNotification : onRequest;
    if (own) register.call(app, method, wrapped);
    else register.call(app, method, (params: unknown) => params, wrapped);
  }
  return app;
}

export { acp, official };
