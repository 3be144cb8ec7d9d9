import type { Disconnected, Gap } from "@parlance/wire";
import { formatCursor, parseCursor, parseResumable, RESUME } from "@parlance/wire/resume";
import type { Lifetime } from "../lifetime.js";
import type { ConnectOptions } from "../options.js";
import { judge, rejoining } from "../rejoin.js";

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
  /** Classifies a message by id as the next one, a duplicate, or after a gap. Each message is delivered once and in order. */
  next(id: string): boolean | Gap;
  /** Repeats the request until the stream continues. Rejects with the reader's error. */
  join(lost: Disconnected, retry: number): Promise<Joined>;
}

/** Missed heartbeat intervals after which a peer counts as dead. */
const BEATS = 2.5;
/** The assumed grace period in seconds, when the answer that states it was lost. */
const MAYBE_RECEIVED = 5;

/** `ask` sends a GET on the stream's path with its key. */
export function resuming(
  ask: (headers: Record<string, string>, request: Lifetime) => Promise<Response>,
  connection: ConnectOptions,
  life: Lifetime,
): Resuming {
  const rejoins = rejoining(connection, life);
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
    next(id) {
      if (epoch === undefined) return true;
      const isNext = id === formatCursor({ epoch, seq: seq + 1 });
      const cursor = isNext ? undefined : parseCursor(id);
      if (cursor) return cursor.epoch === epoch && cursor.seq <= seq ? false : { after: seq, first: cursor.seq };
      if (isNext) seq++;
      rejoins.delivered();
      return true;
    },
    join(lost, retry) {
      const known = epoch !== undefined;
      const attempt = async (request: Lifetime): Promise<Joined | number> => {
        const cursor: Record<string, string> = known ? { "Last-Event-ID": formatCursor({ epoch: epoch!, seq }) } : {};
        const response = await ask({ Accept: "text/event-stream", ...cursor }, request);
        const judged = judge(response, lost);
        return typeof judged === "number" ? judged : { response, request };
      };
      return rejoins.run(lost, grace, attempt, retry, known ? undefined : MAYBE_RECEIVED * 1000);
    },
  };
}
