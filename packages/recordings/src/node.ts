export { RecordingFile } from "./node/file.js";
export { listenReplay } from "./node/listen.js";
export { type Connected, proxy } from "./node/proxy.js";
export { frameSocket } from "./node/socket.js";
