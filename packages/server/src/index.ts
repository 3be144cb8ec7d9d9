export {
  type Call,
  type Channel,
  Disconnected,
  type OpenAsk,
  Refusal,
  type ServerChannel,
  type Session,
  type StreamCall,
  Violation,
} from "@parlance/wire";
export type { Stats } from "@parlance/wire/scope";
export { type Apps, fetchOf, type Placed } from "./apps.js";
export type { Called, Done, ErrorContext, Hooks, How } from "./hooks.js";
export type { Answer } from "./http/answer.js";
export { apiKey, bearer } from "./http/bearer.js";
export { LIMITS, type Limits } from "./limits.js";
export type { ServeOptions } from "./options.js";
export type { Accepted } from "./ports.js";
export { type App, serve } from "./serve.js";
export type { Sink, SseWriter } from "./stream/writer.js";
