/** An ask that waits, as the page shows it: the message, and the ways to answer it. */
export interface AskView {
  readonly message: Readonly<Record<string, unknown>>;
  readonly answers: readonly Answer[];
  /** The first connection that had the credentials of the call that asked. */
  readonly credentials?: number;
}

/** A way to answer an ask. Its values are from the conversation, and the decision is that of its label. */
export interface Answer {
  readonly label: string;
  /** The operation that answers. */
  readonly operation?: string;
  /** The message that answers, on the channel that asked. */
  readonly message?: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Required parameters and properties that are not in the conversation. A person fills them in. */
  readonly missing: readonly string[];
}

/** The result of a call or message that the page sent. */
export interface Outcome {
  readonly ok: boolean;
  /** The status, and the words of a refusal. */
  readonly text: string;
}

/** Credentials that a connection had. Their values stay in the inspector's server. */
export interface CredentialInfo {
  /** The first connection that had them. */
  readonly c: number;
  /** Names of headers and query parameters. */
  readonly names: readonly string[];
}
