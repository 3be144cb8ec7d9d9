export { RUN_WITHIN, Spent } from "./suite/budget.js";
export type { Case, ClientCase, Level, ServerCase } from "./suite/case.js";
export { type Suite, suiteOf } from "./suite/cases.js";
export type { ValueOf } from "./suite/kit.js";
export { Mask } from "./suite/mask.js";
export { KEYWORDS, withoutKeyword } from "./suite/mutant.js";
export { clientCommand, serverCommand } from "./suite/node/commands.js";
export { Broken } from "./suite/node/program.js";
export { type RunOptions, runCases } from "./suite/node/run.js";
export type { ClientLine, ClientPeer, ServerLine, ServerPeer } from "./suite/peer.js";
export { causesOf, formatCause } from "./suite/report/causes.js";
export { FORMATS, type Format } from "./suite/report/formats.js";
export { formatResult, isFine, type Outcome, type Report, type Result, totalsOf } from "./suite/result.js";
export type {
  Act,
  Called,
  ClientCall,
  ClientStep,
  JsonMessage,
  Refused,
  ServerStep,
  Told,
  ToldError,
} from "./suite/script.js";
export { anyOf, atLeast, type Listed, ordered, parseList } from "./suite/select.js";
export type { Traced } from "./suite/trace.js";
