export { Exchanges } from "../export/connections.js";
export { har } from "../export/har.js";
export { markdown } from "../export/markdown.js";
