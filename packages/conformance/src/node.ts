export { RecordingFile } from "./node/file.js";
export { type ListeningReplay, listenReplay } from "./node/listen.js";
export { type Proxy, type ProxyOptions, proxy } from "./node/proxy.js";
