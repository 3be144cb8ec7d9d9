export type { Case } from "./suite/case.js";
export { type Suite, suiteOf } from "./suite/cases.js";
export { clientCommand, serverCommand } from "./suite/node/commands.js";
export { type RunOptions, runCases } from "./suite/node/run.js";
export type { ClientLine, ClientPeer, ServerLine, ServerPeer } from "./suite/peer.js";
export { FORMATS } from "./suite/report/formats.js";
export { formatResult, isFine, type Report, type Result, totalsOf } from "./suite/result.js";
export type { Act, Called, ClientStep, JsonMessage, ServerStep, Told, ToldError } from "./suite/script.js";
