import type { Port, PortEvents } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";

/** The port of a call, which is over when the port closes. */
export class CallPort implements Port {
  readonly #port: Port;
  readonly #call: Scope;

  constructor(port: Port, call: Scope) {
    this.#port = port;
    this.#call = call;
  }

  send(frame: string): void {
    this.#port.send(frame);
  }

  close(code: number, reason: string): void {
    this.#port.close(code, reason);
  }

  cut(): void {
    this.#port.cut?.();
  }

  buffered(): number {
    return this.#port.buffered?.() ?? 0;
  }

  listen(on: PortEvents): void {
    this.#port.listen({
      frame: (text) => on.frame(text),
      close: (code, reason) => {
        on.close(code, reason);
        this.#call.close();
      },
    });
  }
}
