export type { Case } from "./case.js";
export { type Suite, suiteOf } from "./cases.js";
export type { ClientLine, ClientPeer, ServerLine, ServerPeer } from "./peer.js";
export { FORMATS } from "./report/formats.js";
export { formatResult, isFine, type Report, type Result, totalsOf } from "./result.js";
export type { Act, Called, ClientStep, JsonMessage, ServerStep, Told, ToldError } from "./steps.js";
