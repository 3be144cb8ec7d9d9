import type { Disconnected } from "@parlance/wire";
import { formatCursor, parseCursor, parseGap, parseResumable } from "@parlance/wire/resume";
import { RESUME } from "@parlance/wire/resume-key";
import type { Lifetime } from "../lifetime.js";
import { type ConnectOptions, IDLE_TIMEOUT, RECONNECT_FOR } from "../options.js";
import { gap, judge, rejoining } from "../rejoin.js";
import { discard } from "../response.js";

/** An answer whose body is being read, and the lifetime of its request. */
export interface Joined {
  readonly response: Response;
  readonly request: Lifetime;
}

/** The position in a stream that the server can resume. */
export interface Resuming {
  /** Milliseconds of silence after which the server counts as gone; 0 without a heartbeat. */
  readonly silence: number;
  /** Records an answer of the server. */
  joined(headers: Headers): void;
  /** Whether a message is the next one, by its id, and not a duplicate. A message after a gap fails the stream. */
  isNext(id: string): boolean;
  /** Repeats the request until the stream continues. Rejects with the reader's error. */
  join(lost: Disconnected, retry: number): Promise<Joined>;
}

/** Missed heartbeat intervals after which a peer counts as dead. */
const BEATS = 2.5;
/** The assumed grace period in seconds, when the answer that states it was lost. */
const MAYBE_RECEIVED = 5;

export interface ResumingOptions {
  /** Names the stream in errors. */
  readonly what: string;
  readonly connection: ConnectOptions;
  readonly life: Lifetime;
  /** Sends a GET on the stream's path with its key. */
  readonly join: (headers: Record<string, string>, request: Lifetime) => Promise<Response>;
  /** Ends the stream with an error. */
  readonly fail: (error: unknown) => void;
}

/** Loaded once a server offers to resume a stream. */
export function resuming({ what, connection, life, join, fail }: ResumingOptions): Resuming {
  const rejoins = rejoining(connection, life, what);
  let epoch: string | undefined;
  let grace = MAYBE_RECEIVED;
  let beat = 0;
  let seq = 0;
  return {
    get silence() {
      return beat * 1000 * BEATS;
    },
    joined(headers) {
      const resumable = parseResumable(headers.get(RESUME));
      if (!resumable) return;
      ({ beat, grace } = resumable);
      // The ids of another epoch count other messages: the first of them is a gap.
      epoch ??= resumable.epoch;
    },
    isNext(id) {
      if (epoch === undefined) return true;
      const isNext = id === formatCursor({ epoch, seq: seq + 1 });
      const cursor = isNext ? undefined : parseCursor(id);
      if (cursor) {
        const isKnown = cursor.epoch === epoch && cursor.seq <= seq;
        if (!isKnown) fail(gap(what, { after: seq, first: cursor.seq }));
        return false;
      }
      if (isNext) seq++;
      rejoins.delivered();
      return true;
    },
    join(lost, retry) {
      const known = epoch !== undefined;
      const attempt = async (request: Lifetime): Promise<Joined | number> => {
        const cursor: Record<string, string> = known ? { "Last-Event-ID": formatCursor({ epoch: epoch!, seq }) } : {};
        const response = await join({ Accept: "text/event-stream", ...cursor }, request);
        const judged = judge(response, lost);
        return typeof judged === "number" ? judged : { response, request };
      };
      const { reconnectFor = RECONNECT_FOR, idleTimeout = IDLE_TIMEOUT } = connection;
      // A proxy that gathers bytes looks like a dead network. Without resume, a silent stream would be waited for as long as this.
      const silent = idleTimeout ? idleTimeout - beat * 1000 * BEATS : Number.POSITIVE_INFINITY;
      const patience = lost.code === "idle" ? Math.max(reconnectFor, silent) : reconnectFor;
      return rejoins.run(lost, grace, attempt, retry, known ? patience : MAYBE_RECEIVED * 1000);
    },
  };
}

/** Throws where the answer to the stream's request reports that its messages are gone. */
export function assertKept(what: string, response: Response): void {
  const missing = parseGap(response.headers.get(RESUME));
  if (!missing) return;
  discard(response);
  throw gap(what, missing);
}
