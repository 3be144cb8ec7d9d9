export type { CallOptions, Channel, Closed, MessageStream, ReopenOptions } from "@parlance/contract";
export { Disconnected, type OpenSocket, Refusal, type Unknown, Violation } from "@parlance/wire";
export { connect } from "./connect.js";
export type { ConnectOptions } from "./options.js";
