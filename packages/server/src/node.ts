export { type Handler, handler } from "./node/http.js";
export { type Listening, type ListenOptions, listen } from "./node/listen.js";
export { onWebSocket, upgrade } from "./node/socket.js";
export { type StdioOptions, stdio } from "./node/stdio.js";
