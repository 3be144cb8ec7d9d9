export type { Call, Channel, OpenAsk, Session } from "@parlance/contract";
export { Disconnected, Refusal, Violation } from "@parlance/wire";
export { bearer } from "./bearer.js";
export type { Accepted } from "./channel.js";
export type { Feed, Sink } from "./feed.js";
export { type Entry, type EventLog, type LogState, memoryLog } from "./log.js";
export type { Called, Hooks, ServeOptions } from "./options.js";
export type { Answer } from "./reply.js";
export { type App, serve } from "./serve.js";
