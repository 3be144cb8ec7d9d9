export { generate } from "./generate.js";
export { GenerateError } from "./names.js";
