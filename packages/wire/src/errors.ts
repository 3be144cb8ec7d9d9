import type { Json, Side } from "@parlance/contract";
import type { AnyMessage } from "./any-message.js";
import type { Gap } from "./resume.js";

export interface RefusalDetails {
  /** HTTP status; on a stream or channel, the status that the protocol's code stands for, where it has one. */
  readonly status?: number;
  /** The protocol's own error code, where it has codes. */
  readonly code?: string;
  readonly details?: Json;
  /** What the protocol's `recoverable` said. */
  readonly recoverable?: boolean;
  /** Seconds after which the peer may be asked again (`Retry-After`, RFC 9110 section 10.2.3). */
  readonly retryAfter?: number;
}

/** The peer said no, in the protocol's own words. A handler throws it to say no. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number | undefined;
  readonly code: string;
  readonly details: Json | undefined;
  readonly recoverable: boolean | undefined;
  readonly retryAfter: number | undefined;

  constructor(message: string, { status, code, details, recoverable, retryAfter }: RefusalDetails = {}) {
    super(message);
    this.status = status;
    this.code = code ?? (status === undefined ? "refused" : `status_${status}`);
    this.details = details;
    this.recoverable = recoverable;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed later: 408, 429, 502, 503, 504, or the protocol's `recoverable`. */
  get retryable(): boolean {
    return this.recoverable ?? [408, 429, 502, 503, 504].includes(this.status ?? 0);
  }
}

export type ViolationCode =
  | "malformed_json"
  | "not_an_object"
  | "forbidden_key"
  | "too_deep"
  | "too_large"
  | "schema"
  | "unknown_message"
  | "unknown_operation"
  | "content_type"
  | "opening"
  | "format";

/** One way in which a body breaks its schema. */
export interface Flaw {
  /** JSON Pointer into the wire form; empty for the whole. */
  readonly at: string;
  /** The schema keyword that failed, and what it asked for. */
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface ViolationDetails {
  readonly code: ViolationCode;
  readonly protocol: string;
  /** Who broke the contract. */
  readonly side: Side;
  /** The message, operation or channel it is about. */
  readonly subject?: string;
  readonly flaws?: readonly Flaw[];
  readonly cause?: unknown;
}

/** Someone broke the contract. */
export class Violation extends Error {
  override readonly name = "Violation";
  readonly code: ViolationCode;
  readonly protocol: string;
  readonly side: Side;
  readonly subject: string | undefined;
  readonly flaws: readonly Flaw[];

  constructor(what: string, { code, protocol, side, subject, flaws = [], cause }: ViolationDetails) {
    const where = flaws.map((flaw) => `${flaw.at || "/"} ${flaw.keyword} ${JSON.stringify(flaw.params)}`).join("; ");
    super(`${protocol}: ${what} (from the ${side})${where && `: ${where}`}`, { cause });
    this.code = code;
    this.protocol = protocol;
    this.side = side;
    this.subject = subject;
    this.flaws = flaws;
  }
}

export type DisconnectedCode = "unreachable" | "timeout" | "ended_early" | "closed" | "idle" | "slow_reader" | "gap";

export interface DisconnectedDetails {
  readonly code: DisconnectedCode;
  readonly retryable: boolean;
  readonly missing?: Gap;
  readonly unconfirmed?: readonly AnyMessage[];
  readonly cause?: unknown;
}

/** Nobody answered, or a stream stopped without one of its end messages. */
export class Disconnected extends Error {
  override readonly name = "Disconnected";
  readonly code: DisconnectedCode;
  /** Whether trying again cannot repeat an effect: false when the peer may have received something that must not be sent twice. */
  readonly retryable: boolean;
  /** With `gap`: the messages that were missed and are held nowhere any more. */
  readonly missing: Gap | undefined;
  /** On a channel: messages that were sent and may not have been received. */
  readonly unconfirmed: readonly AnyMessage[];

  constructor(message: string, { code, retryable, missing, unconfirmed = [], cause }: DisconnectedDetails) {
    super(message, { cause });
    this.code = code;
    this.retryable = retryable;
    this.missing = missing;
    this.unconfirmed = unconfirmed;
  }
}
