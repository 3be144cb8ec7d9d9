import { type Disconnected, formatCursor, type Gap, parseCursor, parseResumable, RESUME } from "@parlance/wire";
import { type ConnectOptions, RECONNECT_FOR } from "./options.js";
import { rejoin } from "./rejoin.js";

/** How far a stream is that a server lets us join again. */
export interface Resuming {
  /** Milliseconds of silence after which the server is gone; 0 where it has no heartbeat. */
  readonly silence: number;
  /** The server has answered again. */
  joined(response: Response): void;
  /** Each message once and in order, whatever a proxy repeats: whether this one is next, known already, or after a gap. */
  next(id: string): boolean | Gap;
  /** Asks until the stream goes on; rejects with what the reader should hear. */
  join(lost: Disconnected, retry: number): Promise<Response>;
}

export interface ResumingOptions {
  readonly again: (method: "GET", headers: Record<string, string>, signal: AbortSignal) => Promise<Response>;
  readonly connection: ConnectOptions;
  readonly signal: AbortSignal;
}

/** A dead peer is noticed after this many of its heartbeats. */
const BEATS = 2.5;
/** Milliseconds for which a request is asked after whose answer was never seen: nobody has said that this can be resumed. */
const MAYBE_RECEIVED = 5000;

export function resuming({ again, connection, signal }: ResumingOptions): Resuming {
  let epoch: string | undefined;
  let beat = 0;
  let seq = 0;
  /** Joins in a row after which nothing came. */
  let vain = 0;
  return {
    get silence() {
      return beat * 1000 * BEATS;
    },
    joined(response) {
      const said = parseResumable(response.headers.get(RESUME));
      if (said) ({ epoch, beat } = said);
    },
    next(id) {
      if (epoch === undefined) return true;
      vain = 0;
      if (id === formatCursor({ epoch, seq: seq + 1 })) {
        seq++;
        return true;
      }
      const cursor = parseCursor(id);
      if (!cursor) return true;
      return cursor.epoch === epoch && cursor.seq <= seq ? false : { after: seq, first: cursor.seq };
    },
    join(lost, retry) {
      const cursor: Record<string, string> =
        epoch === undefined ? {} : { "Last-Event-ID": formatCursor({ epoch, seq }) };
      const ask = (signal: AbortSignal) => again("GET", { Accept: "text/event-stream", ...cursor }, signal);
      const giveUpAfter = epoch === undefined ? MAYBE_RECEIVED : (connection.reconnectFor ?? RECONNECT_FOR);
      return rejoin({
        ask,
        lost,
        signal,
        retry,
        giveUpAfter,
        random: connection.random ?? Math.random,
        attempt: vain++,
      });
    },
  };
}
