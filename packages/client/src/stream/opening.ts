import type { AnyMessage, Input, ReopenOptions } from "@parlance/wire";
import type { StreamSource } from "../lazy.js";
import type { ConnectOptions } from "../options.js";

export interface Opening {
  readonly input: Input;
  readonly options: ReopenOptions;
  /** Absent where nothing is resumed. */
  readonly key: string | undefined;
  /** Whether this client has ended the stream's session. */
  readonly sessionEnded: () => Promise<boolean>;
  /** Called with the milliseconds that the server asked for before a reconnect. */
  readonly over: (retry: number) => void;
}

/** Opens the stream of an operation with options that replace the caller's. */
export type Begin = (how: Partial<Opening>, connection: ConnectOptions) => StreamSource<AnyMessage>;
