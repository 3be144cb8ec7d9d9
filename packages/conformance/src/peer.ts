import type { Called, ClientCall, Told } from "./steps.js";

/** What tells a fixture's handlers what to do. One per run. */
export interface ServerPeer {
  readonly url: string;
  /** Absent for a live server. */
  readonly fixture?: {
    begin(line: ServerLine): Promise<void>;
    report(id: string): Promise<readonly Called[]>;
    /** How the fixture has ended during a case that failed, if it has. The next case starts it again. */
    ended?(): Promise<string | undefined>;
  };
  close(): Promise<void>;
}

/** The line that a fixture reads for a case. */
export interface ServerLine {
  readonly case: string;
  readonly acts: readonly unknown[];
  /** The only token to let in. */
  readonly token?: string | undefined;
}

export interface ClientPeer {
  call(line: ClientLine): Promise<Told>;
  /** Called after an answer that may be to another line. What the client prints from now on is not read. */
  restart?(): Promise<void>;
  close(): Promise<void>;
}

/** The line that a client reads for a call. */
export interface ClientLine extends ClientCall {
  readonly case: string;
  readonly url: string;
  readonly token?: string | undefined;
  /** The body of an upload, in base64. */
  readonly bytes?: string | undefined;
}
