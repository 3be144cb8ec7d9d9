export type { Format, FormatName } from "./formats/block.js";
export type { EditEvent, EditReader, ReadOptions } from "./stream/event.js";
export { parseWith } from "./stream/parse.js";
export { type EditOptions, parseEdits, readEdits } from "./stream/read.js";
export { scanEdits } from "./stream/scan.js";
