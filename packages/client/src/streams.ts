export type { CallOptions, Channel, Closed, MessageStream, ReopenOptions } from "@parlance/contract";
export type { OpenSocket, Unknown } from "@parlance/wire";
export { Disconnected, Refusal, Violation } from "@parlance/wire/errors";
export { connect } from "./connect-streams.js";
export type { ConnectOptions } from "./options.js";
