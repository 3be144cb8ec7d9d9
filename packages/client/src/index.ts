export type {
  CallOptions,
  Channel,
  Closed,
  ConnectionEvent,
  MessageStream,
  OpenSocket,
  ReopenOptions,
  Unknown,
} from "@parlance/wire";
export { Disconnected, Refusal, Violation } from "@parlance/wire/errors";
export { connect } from "./connect.js";
export type { ConnectOptions } from "./options.js";
