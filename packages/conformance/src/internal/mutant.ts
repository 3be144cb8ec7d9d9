export { KEYWORDS, withoutKeyword } from "../mutant.js";
