import type { Outcome } from "../ask.js";
import type { Row } from "../row.js";
import { post } from "./api.js";

/** The beginning of a form: a call, or a message on a channel. */
export interface Draft {
  readonly name: string;
  readonly message?: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly connection?: number;
  /** The connection whose credentials it is sent with. */
  readonly credentials?: number;
  /** The ask that it answers, and the names of values that a person has to fill in. */
  readonly ask?: { readonly row: Row; readonly missing: readonly string[] };
}

/** The outcome, or the reason why nothing was sent. */
export interface Sent {
  readonly broken?: { readonly message: string };
  readonly outcome?: Outcome;
}

interface Sending {
  /** The body as it is written; the draft's own by default. */
  readonly text?: string;
  readonly times?: number;
  /** Sends what breaks the contract too. */
  readonly force?: boolean;
}

/** Sends a draft, unless it breaks the contract. An inspector that is gone is an outcome too. */
export async function sendDraft(
  { name, message, parameters, body, connection, credentials }: Draft,
  { text = body === undefined ? "" : JSON.stringify(body), times = 1, force }: Sending = {},
): Promise<Sent> {
  try {
    const sent: Sent =
      message === undefined
        ? await post("/api/call", { name, parameters, times, force, credentials, ...(text !== "" && { body: text }) })
        : await post("/api/frame", { connection, channel: name, text, times, force });
    if (!sent.outcome || times === 1) return sent;
    return { outcome: { ...sent.outcome, text: `Sent ${times} times. The last: ${sent.outcome.text}` } };
  } catch (error) {
    return { outcome: { ok: false, text: (error as Error).message } };
  }
}
