import type { TranscriptLine } from "@parlance/contract";
import { type AnyContract, decoder } from "@parlance/wire";
import type { Entry, Happening } from "../recording.js";
import { type Tape, takesOf } from "./tape.js";

/**
 * A contract's transcript as a recording. It has no times, and one connection for each call; what stands between a stream's messages belongs
 * to the stream or channel that was opened last.
 */
export function tapeOf(contract: AnyContract, lines: readonly TranscriptLine[]): Tape {
  const entries: Entry[] = [];
  let c = 0;
  /** The stream or channel that carries messages, and whether its answer has begun. */
  let carrier: { readonly c: number; readonly name: string; begun: boolean } | undefined;
  let asked = 0;
  const note = (on: number, from: "client" | "server", happening: Happening) =>
    void entries.push({ t: 0, c: on, from, ...happening } as Entry);
  const finish = () => {
    if (carrier?.begun)
      note(
        carrier.c,
        "server",
        contract.channels[carrier.name] ? { kind: "close", code: 1000, reason: "" } : { kind: "end" },
      );
    carrier = undefined;
  };

  for (const line of lines) {
    if ("call" in line && line.request) {
      const { method, target, body } = line.request;
      const socket = contract.channels[line.call] !== undefined;
      asked = ++c;
      if (socket || contract.operations[line.call]?.answer.stream) {
        finish();
        carrier = { c, name: line.call, begun: false };
      }
      const headers = body === undefined ? [] : ([["Content-Type", "application/json"]] as const);
      note(c, "client", { kind: "request", method, target, headers, ...(socket && { socket: true }) });
      if (body !== undefined) note(c, "client", { kind: "body", text: body });
      if (socket) begin(note, carrier!, 101, []);
    } else if ("status" in line) {
      if (carrier?.c === asked) carrier = undefined;
      note(asked, "server", {
        kind: "response",
        status: line.status,
        headers: line.type ? [["Content-Type", line.type]] : [],
      });
      if (line.body) note(asked, "server", { kind: "body", text: line.body });
      note(asked, "server", { kind: "end" });
    } else if ("wire" in line && carrier) {
      const operation = contract.operations[carrier.name];
      if (operation && !carrier.begun)
        begin(note, carrier, operation.answer.status, [["Content-Type", "text/event-stream"]]);
      note(carrier.c, line.from, operation ? eventOf(line.wire) : { kind: "frame", text: line.wire });
    } else if ("end" in line && carrier) {
      if (line.end === "cut") {
        note(carrier.c, line.from, { kind: "error", text: "the connection was lost" });
        carrier = undefined;
      } else finish();
    }
  }
  finish();
  const header = {
    recording: 1,
    contract: { name: contract.name },
    versions: {},
    began: new Date(0).toISOString(),
    redacted: [],
  } as const;
  return { header, entries, takes: takesOf(entries), ending: { state: "complete", lines: lines.length } };
}

function begin(
  note: (on: number, from: "server", happening: Happening) => void,
  carrier: { readonly c: number; begun: boolean },
  status: number,
  headers: readonly (readonly [string, string])[],
): void {
  carrier.begun = true;
  note(carrier.c, "server", { kind: "response", status, headers });
}

function eventOf(raw: string): Happening {
  let found: Happening = { kind: "comment", text: raw };
  const events = decoder({
    onEvent: ({ event, data }) => {
      found = { kind: "event", ...(event !== undefined && { event }), text: data, raw };
    },
    onTooLarge() {},
    maxSize: raw.length,
  });
  events.push(raw);
  return found;
}
