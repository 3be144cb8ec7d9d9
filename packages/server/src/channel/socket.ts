import type { Port, PortEvents } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { invoke } from "../callback.js";

/** Turns a socket's failures into a cut (1006). An error of an adapter's port ends only its conversation. */
export class SafePort implements Port {
  readonly #port: Port;
  #on: PortEvents | undefined;
  #over: { readonly code: number; readonly reason: string } | undefined;

  constructor(port: Port) {
    this.#port = port;
  }

  send(frame: string): void {
    if (this.#over) return;
    try {
      const sent: unknown = this.#port.send(frame);
      if (sent !== undefined) this.#call(() => sent);
    } catch {
      this.#fail();
    }
  }

  close(code: number, reason: string): void {
    this.#call(() => this.#port.close(code, reason));
  }

  cut(): void {
    this.#call(() => this.#port.cut?.());
  }

  buffered(): number {
    let waiting: unknown;
    this.#call(() => {
      waiting = this.#port.buffered?.();
      return waiting;
    });
    return typeof waiting === "number" ? waiting : 0;
  }

  listen(on: PortEvents): void {
    this.#on = on;
    // Frames that were sent before may have failed.
    if (this.#over) return on.close(this.#over.code, this.#over.reason);
    const events: PortEvents = {
      frame: (text) => {
        if (!this.#over) on.frame(text);
      },
      close: (code, reason) => this.#end(code, reason),
      closing: on.closing,
      unread: on.unread,
    };
    this.#call(() => this.#port.listen(events));
  }

  #call(act: () => unknown): void {
    invoke(act, () => this.#fail());
  }

  #end(code: number, reason: string): void {
    if (this.#over) return;
    this.#over = { code, reason };
    this.#on?.close(code, reason);
  }

  #fail(): void {
    if (this.#over) return;
    invoke(
      () => this.#port.cut?.(),
      () => {},
    );
    this.#end(1006, "the socket failed");
  }
}

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
