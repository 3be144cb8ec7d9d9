export { RUN_WITHIN, Spent } from "../budget.js";
export type { Level } from "../case.js";
export { Mask } from "../mask.js";
export { Broken } from "../node/program.js";
export { causesOf, formatCause } from "../report/causes.js";
export type { Format } from "../report/formats.js";
export type { Outcome } from "../result.js";
export { anyOf, atLeast, type Listed, ordered, parseList } from "../select.js";
