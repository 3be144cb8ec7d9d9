export { clientCommand, serverCommand } from "./node/commands.js";
export { runCases } from "./node/run.js";
