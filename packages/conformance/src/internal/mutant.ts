export { withoutKeyword } from "../mutant.js";
