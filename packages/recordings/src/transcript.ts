import { type AnyContract, isObject, type Side, type TranscriptLine } from "@parlance/wire";
import { eventIn } from "./blocks.js";
import type { Entry, Happening, Header } from "./recording.js";

/** The header of a transcript that is read as a recording. */
export function transcriptHeader(contract: AnyContract): Header {
  const began = new Date(0).toISOString();
  return { recording: 1, contract: { name: contract.name }, versions: {}, began, redacted: [], transcript: true };
}

/** Parses a line of a contract's transcript; undefined if the text is none. */
export function parseTranscriptLine(text: string): TranscriptLine | undefined {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(line) || "kind" in line || "recording" in line) return undefined;
  if ("wire" in line && typeof line.wire !== "string") return undefined;
  const step = ["call", "status", "wire", "end"].some((key) => key in line);
  const known = typeof line.note === "string" || (step && (line.from === "client" || line.from === "server"));
  return known ? (line as unknown as TranscriptLine) : undefined;
}

/** The stream or channel that carries messages, and whether its answer has begun. */
interface Carrier {
  readonly c: number;
  readonly name: string;
  begun: boolean;
}

/**
 * Turns the lines of a transcript into entries of a recording. It has no times, and one connection for each call; what stands between a
 * stream's messages belongs to the stream or channel that was opened last.
 */
export class TranscriptEntries {
  readonly #contract: AnyContract;
  readonly #note: (on: number, from: Side, happening: Happening) => void;
  #connections = 0;
  #asked = 0;
  #carrier: Carrier | undefined;

  constructor(contract: AnyContract, onEntry: (entry: Entry) => void) {
    this.#contract = contract;
    this.#note = (c, from, happening) => onEntry({ t: 0, c, from, ...happening });
  }

  line(line: TranscriptLine): void {
    if ("call" in line) {
      if (line.request) this.#request(line.call, line.request);
    } else if ("status" in line) this.#answer(line.status, line.type, line.body);
    else if ("wire" in line) this.#message(line.from, line.wire);
    else if ("end" in line && this.#carrier) {
      if (line.end !== "cut") return this.end();
      this.#note(this.#carrier.c, line.from, { kind: "error", text: "the connection was lost" });
      this.#carrier = undefined;
    }
  }

  /** Ends the stream or channel that is open. */
  end(): void {
    if (this.#carrier?.begun) {
      const { c, name } = this.#carrier;
      const isChannel = this.#contract.channels[name] !== undefined;
      this.#note(c, "server", isChannel ? { kind: "close", code: 1000, reason: "" } : { kind: "end" });
    }
    this.#carrier = undefined;
  }

  #request(
    call: string,
    { method, target, body }: { readonly method: string; readonly target: string; readonly body?: string },
  ): void {
    const socket = this.#contract.channels[call] !== undefined;
    const c = ++this.#connections;
    this.#asked = c;
    if (socket || this.#contract.operations[call]?.answer.stream) {
      this.end();
      this.#carrier = { c, name: call, begun: false };
    }
    const headers = body === undefined ? [] : ([["Content-Type", "application/json"]] as const);
    this.#note(c, "client", { kind: "request", method, target, headers, ...(socket && { socket: true }) });
    if (body !== undefined) this.#note(c, "client", { kind: "body", text: body });
    if (socket) this.#begin(this.#carrier!, 101, undefined);
  }

  #answer(status: number, type: string | undefined, body: string): void {
    const c = this.#asked;
    if (this.#carrier?.c === c) this.#carrier = undefined;
    this.#note(c, "server", { kind: "response", status, headers: type ? [["Content-Type", type]] : [] });
    if (body) this.#note(c, "server", { kind: "body", text: body });
    this.#note(c, "server", { kind: "end" });
  }

  #message(from: Side, wire: string): void {
    if (!this.#carrier) return;
    const { c, name, begun } = this.#carrier;
    const operation = this.#contract.operations[name];
    if (operation && !begun) this.#begin(this.#carrier, operation.answer.status, "text/event-stream");
    this.#note(c, from, operation ? eventOf(wire) : { kind: "frame", text: wire });
  }

  #begin(carrier: Carrier, status: number, type: string | undefined): void {
    carrier.begun = true;
    this.#note(carrier.c, "server", { kind: "response", status, headers: type ? [["Content-Type", type]] : [] });
  }
}

function eventOf(raw: string): Happening {
  const found = eventIn(raw);
  if (!found) return { kind: "comment", text: raw };
  const { event, data } = found;
  return { kind: "event", ...(event !== undefined && { event }), text: data, raw };
}
