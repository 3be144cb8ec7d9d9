import type { OpenSocket, Port } from "@parlance/wire";
import { MAX_CONTENT } from "../bodies.js";
import { headerOf } from "../recording.js";
import { type Answering, preferred, protocolsIn } from "../replay/answering.js";

/** An app, such as one of `serve`, as a mock answers: by lists of headers and by bytes. */
export function appAnswering(app: {
  fetch(request: Request): Promise<Response>;
  readonly webSocket: OpenSocket;
  close(): void;
}): Answering {
  return {
    async answer({ method, target, headers, body, bytes = body }) {
      const url = `http://${headerOf(headers, "host") ?? "localhost"}${target}`;
      const own = headers.map(([name, value]) => [name, value] as [string, string]);
      const request = new Request(url, { method, headers: own, ...(bytes !== undefined && { body: bytes }) });
      const response = await app.fetch(request);
      return {
        status: response.status,
        headers: [...response.headers],
        body: (signal) => bytesOf(response.body, signal),
      };
    },
    async accept({ target, headers }) {
      const protocols = protocolsIn(headers);
      const own = Object.fromEntries(
        headers.filter(([name]) => !/^(upgrade|connection|sec-websocket-.*)$/i.test(name)),
      );
      const url = `ws://${headerOf(headers, "host") ?? "localhost"}${target}`;
      const opened = await app.webSocket(url, { headers: own, protocols, maxSize: MAX_CONTENT });
      return "refused" in opened ? opened : { protocol: preferred(protocols), run: (port) => join(port, opened) };
    },
    close: () => app.close(),
  };
}

async function* bytesOf(body: ReadableStream<Uint8Array> | null, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (!body) return;
  const reader = body.getReader();
  const cancel = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    cancel();
  }
}

/** Joins two ports: each gets what the other receives. */
function join(one: Port, other: Port): void {
  const pass = (from: Port, to: Port) =>
    from.listen({
      frame: (text) => to.send(text),
      close(code, reason) {
        if (code === 1006) to.cut ? to.cut() : to.close(1006, "");
        else to.close(code === 1005 ? 1000 : code, reason);
      },
    });
  pass(one, other);
  pass(other, one);
}
