import type { Socket } from "node:net";
import { escapeRegExp } from "@parlance/wire/internal/escape";
import { Budget, RUN_WITHIN } from "./budget.js";

/** Bytes as they passed during one case, with their times. */
export interface Traced {
  /** Milliseconds since the case began. */
  readonly t: number;
  /** Which connection of the case. */
  readonly c: number;
  readonly from: "suite" | "peer";
  /** The bytes as text; what is no UTF-8 is escaped. */
  readonly bytes: string;
}

/** Bytes that are kept of one case. */
const MOST = 64 * 1024;
const SECRETS = ["authorization", "x-api-key", "cookie"];

/** Records what passes between the suite and a peer. Tokens in headers are left out. */
export class Trace {
  readonly budget: Budget;
  readonly #now: () => number;
  readonly #token: RegExp;
  #began = 0;
  #left = MOST;
  #connections = 0;
  #lines: Traced[] = [];

  /** `header` is that of the contract's API key. */
  constructor(now: () => number, header?: string, budget = new Budget(RUN_WITHIN)) {
    this.budget = budget;
    this.#now = now;
    const names = header === undefined ? SECRETS : [...SECRETS, escapeRegExp(header)];
    this.#token = new RegExp(`(^(?:${names.join("|")}):[ \\t]*)[^\\r\\n]+`, "gim");
  }

  begin(): void {
    this.#began = this.#now();
    this.#left = MOST;
    this.#connections = 0;
    this.#lines = [];
  }

  connection(): number {
    return ++this.#connections;
  }

  note(c: number, from: Traced["from"], bytes: string): void {
    if (this.#left <= 0) return;
    const kept = bytes.length > this.#left ? `${bytes.slice(0, this.#left)}… (${bytes.length} in all)` : bytes;
    this.#left -= kept.length;
    const t = Math.round((this.#now() - this.#began) * 10) / 10;
    this.#lines.push({ t, c, from, bytes: kept.replace(this.#token, "$1…") });
  }

  get lines(): readonly Traced[] {
    return this.#lines;
  }
}

/** Records the bytes of a socket in both directions. */
export function traced(socket: Socket, trace: Trace): Socket {
  const c = trace.connection();
  const write = socket.write;
  socket.write = ((chunk: string | Uint8Array, ...rest: never[]) => {
    trace.note(c, "suite", textOf(chunk));
    return write.call(socket, chunk, ...rest);
  }) as typeof socket.write;
  // Emitted rather than listened for: a listener would change the flow of the stream.
  const emit = socket.emit;
  socket.emit = ((event: string, ...rest: unknown[]) => {
    if (event === "data") {
      const bytes = rest[0] as Uint8Array;
      trace.note(c, "peer", textOf(bytes));
      if (!trace.budget.count(bytes.length)) socket.destroy();
    }
    return Reflect.apply(emit, socket, [event, ...rest]) as boolean;
  }) as typeof socket.emit;
  return socket;
}

function textOf(chunk: string | Uint8Array): string {
  // Of a long body the beginning says enough.
  return typeof chunk === "string" ? chunk.slice(0, 66_000) : Buffer.from(chunk.subarray(0, 66_000)).toString();
}
