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

/** Sends a draft, unless it breaks the contract. */
export function sendDraft(
  { name, message, parameters, body, connection, credentials }: Draft,
  { text = body === undefined ? "" : JSON.stringify(body), times, force }: Sending = {},
): Promise<Sent> {
  if (message !== undefined) return post("/api/frame", { connection, channel: name, text, times, force });
  return post("/api/call", { name, parameters, times, force, credentials, ...(text !== "" && { body: text }) });
}
