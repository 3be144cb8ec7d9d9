export { KEYWORDS, withoutKeyword } from "../suite/mutant.js";
