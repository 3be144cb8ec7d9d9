import type { connect } from "@parlance/client";
import type { Workspace } from "./workspace.js";

/** The output and the connection of an example client. */
export interface Story {
  readonly baseUrl: string;
  readonly workspace: Workspace;
  readonly prompt: string;
  readonly print: Print;
  /** How the client connects: metered by the demo, plain otherwise. */
  readonly connection: NonNullable<Parameters<typeof connect>[1]>;
}

export interface Print {
  /** Streamed text, without a line end. */
  text(text: string): void;
  /** One thing that happened. */
  note(what: string): void;
}
