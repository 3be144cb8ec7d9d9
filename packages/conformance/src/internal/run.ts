export { RUN_WITHIN, Spent } from "../suite/budget.js";
export type { Level } from "../suite/case.js";
export { Mask } from "../suite/mask.js";
export { Broken } from "../suite/node/program.js";
export { causesOf, formatCause } from "../suite/report/causes.js";
export type { Format } from "../suite/report/formats.js";
export type { Outcome } from "../suite/result.js";
export { anyOf, atLeast, type Listed, ordered, parseList } from "../suite/select.js";
