export { openWith } from "../socket.js";
