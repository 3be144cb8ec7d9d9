import type { RequestListener, ServerResponse } from "node:http";
import type { Scope } from "@parlance/wire/scope";
import { type Apps, choose, knows, placed } from "../apps.js";
import type { Answer } from "../http/answer.js";
import { gone } from "../reason.js";
import type { Sink } from "../stream/writer.js";
import { closeWith, toRequest } from "./request.js";

/** A plain request listener: for a server of your own, or for Express and similar frameworks (before any body parser). */
export function handler(app: Apps): RequestListener {
  return boundHandler(app, undefined);
}

/** The same for a server that listens on a known address. */
export function boundHandler(app: Apps, bound: string | undefined): RequestListener {
  const apps = placed(app);
  return (incoming, outgoing) => {
    const arrived = toRequest(incoming);
    if (!(arrived instanceof Request)) {
      const { status, text } = arrived;
      outgoing.writeHead(status, { "Content-Type": "text/plain", Connection: "close" }).end(text);
      return;
    }
    // The first app refuses a path that none has.
    const { app, request } = choose(apps, arrived, knows) ?? { app: apps[0]!.app, request: arrived };
    const call = app.open();
    closeWith(incoming.socket, call);
    outgoing.on("close", () => call.close(outgoing.writableFinished ? undefined : gone()));
    app
      .answer(request, call, bound)
      .then((answer) => write(answer, outgoing, call, app.limits.stall))
      .catch((error) => outgoing.destroy(error as Error));
  };
}

/** Writes an answer. A peer that does not read it to its end is cut after `stall`. */
async function write({ status, headers, body }: Answer, outgoing: ServerResponse, call: Scope, stall: number) {
  if (outgoing.destroyed) return;
  // The rest of a body that did not arrive in time would be taken for a request.
  outgoing.writeHead(status, status === 408 ? { ...headers, Connection: "close" } : { ...headers });
  if (typeof body === "string") outgoing.end(body);
  else {
    outgoing.flushHeaders();
    await body.run(new ResponseSink(outgoing));
  }
  // A pipelined answer has no socket before those of earlier requests are written.
  const cut = () => void call.timeout(stall, () => outgoing.destroy());
  if (outgoing.socket) cut();
  else outgoing.once("socket", cut);
}

class ResponseSink implements Sink {
  readonly #outgoing: ServerResponse;

  constructor(outgoing: ServerResponse) {
    this.#outgoing = outgoing;
  }

  write(text: string): Promise<void> | undefined {
    // Writing to a destroyed response is an error event, and ends the process.
    if (this.#isOver() || this.#outgoing.write(text)) return undefined;
    return new Promise((resolve) => this.#outgoing.once("drain", resolve));
  }

  end(): void {
    if (!this.#isOver()) this.#outgoing.end();
  }

  cut(): void {
    this.#outgoing.destroy();
  }

  #isOver(): boolean {
    return this.#outgoing.destroyed || this.#outgoing.writableEnded;
  }
}
