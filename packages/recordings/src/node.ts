export { RecordingFile } from "./node/file.js";
export { type ListeningReplay, type ListenReplayOptions, listenReplay } from "./node/listen.js";
export { type Connected, type Proxy, type ProxyOptions, proxy } from "./node/proxy.js";
export { frameSocket } from "./node/socket.js";
