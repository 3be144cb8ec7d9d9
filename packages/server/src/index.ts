export {
  type Call,
  type Channel,
  Disconnected,
  Refusal,
  type ServerChannel,
  type Session,
  type StreamCall,
  Violation,
} from "@parlance/wire";
export type { Stats } from "@parlance/wire/scope";
export { type Apps, fetchOf } from "./apps.js";
export type { Called, Done, ErrorContext, Hooks } from "./hooks.js";
export { apiKey, bearer } from "./http/bearer.js";
export type { Limits } from "./limits.js";
export type { ServeOptions } from "./options.js";
export { type App, serve } from "./serve.js";
