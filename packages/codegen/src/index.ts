export { docs } from "./docs.js";
export { generate } from "./generate.js";
export { GenerateError } from "./names.js";
