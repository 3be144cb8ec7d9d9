export { RecordingFile } from "./node/file.js";
export { type Proxy, type ProxyOptions, proxy } from "./node/proxy.js";
