export { openProgram } from "../program.js";
