export { Conversations } from "./conversation.js";
export { type Ending, type Hasher, type ReadOptions, read } from "./read.js";
export { Recorder, type RecorderOptions } from "./recorder.js";
export type { Content, End, Entry, Happening, Header, HeaderList, Line } from "./recording.js";
export type { RedactOptions } from "./redact.js";
export { type Finding, type Totals, Verifier } from "./verify.js";
