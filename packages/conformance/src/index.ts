export { type Suite, suiteOf } from "./cases.js";
export type { ClientLine, ClientPeer, ServerLine, ServerPeer } from "./peer.js";
export { FORMATS } from "./report/formats.js";
export { formatResult, type Report, type Result, totalsOf } from "./result.js";
export type { Act, Called, Told } from "./steps.js";
