export { Spent } from "../budget.js";
export { Mask } from "../mask.js";
export { Broken } from "../node/program.js";
export { formatCauses } from "../report/causes.js";
export { anyOf, atLeast, ordered, parseList } from "../select.js";
