export type { CallOptions, Channel, Closed, MessageStream, OpenSocket, ReopenOptions, Unknown } from "@parlance/wire";
export { Disconnected, Refusal, Violation } from "@parlance/wire/errors";
export { connect } from "./connect-streams.js";
export type { ConnectOptions } from "./options.js";
