export { secretsInEnvironment } from "../redaction/names.js";
export { type RedactOptions, Redactor } from "../redaction/redactor.js";
