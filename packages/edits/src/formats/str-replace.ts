export { formatStrReplace, parseStrReplace } from "./calls.js";
