export { type Asking, type AskState, useAsks } from "./asks.js";
export { type ChannelState, useChannel } from "./channel.js";
export { type StreamState, type StreamStatus, useStream } from "./stream.js";
