import { misuse } from "@parlance/wire";
import { type Apps, placed } from "./apps.js";
import { answer, handshake } from "./web/answer.js";
import { type StandardSocket, standardPort } from "./web/port.js";

/** The server's end of a pair: its runtime gives it to the isolate with `accept`. */
interface WorkerSocket extends StandardSocket {
  accept(): void;
}

/**
 * Answers requests and opens WebSockets in Cloudflare workers. A worker makes its apps for each request, with `resume: false`: no two
 * requests of a worker share timers or streams. Inside a Durable Object one app answers all, and resume works.
 */
export function fetchOf(app: Apps): (request: Request) => Promise<Response> {
  const list = placed(app);
  return async (request) => {
    const arrival = { left: request.signal };
    const shaken = await handshake(list, request, arrival);
    if (shaken === undefined) return answer(list, request, arrival);
    if (shaken instanceof Response) return shaken;
    const { WebSocketPair: Pair } = globalThis as unknown as {
      readonly WebSocketPair?: new () => { readonly 0: unknown; readonly 1: WorkerSocket };
    };
    if (!Pair) throw misuse("@parlance/server/workers is for Cloudflare workers: there is no WebSocketPair here");
    const { 0: client, 1: server } = new Pair();
    server.accept();
    shaken.run(standardPort(server, shaken.app.limits.maxMessageSize));
    const headers = shaken.protocol === undefined ? {} : { "Sec-WebSocket-Protocol": shaken.protocol };
    return new Response(null, { status: 101, headers, webSocket: client } as ResponseInit);
  };
}
