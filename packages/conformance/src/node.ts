export { clientCommand, serverCommand } from "./node/commands.js";
export { type RunOptions, runCases } from "./node/run.js";
