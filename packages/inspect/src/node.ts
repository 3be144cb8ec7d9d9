export { type InspectOptions, type Inspector, inspect, type ReviewOptions, review } from "./node/inspect.js";
export type { LogLimits } from "./node/log.js";
export type { Site } from "./node/site.js";
