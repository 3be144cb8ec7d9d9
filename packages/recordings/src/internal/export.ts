export { Exchanges } from "../export/connections.js";
export { har, harEntry } from "../export/har.js";
export { markdownConnection, markdownEnd, markdownHead } from "../export/markdown.js";
