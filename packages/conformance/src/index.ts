export { rawOf } from "./blocks.js";
export { bodyOf, Conversations } from "./conversation.js";
export { type Exchanged, Exchanges } from "./export/connections.js";
export { har, harEntry } from "./export/har.js";
export { markdownConnection, markdownEnd, markdownHead } from "./export/markdown.js";
export type { Fault, FaultOptions } from "./mock/faults.js";
export { type Mock, type MockOptions, mock } from "./mock/mock.js";
export type { Drawn } from "./mock/random.js";
export { type Ending, type Hasher, type ReadOptions, read } from "./read.js";
export { Recorder, type RecorderOptions } from "./recorder.js";
export {
  type Content,
  type End,
  type Entry,
  formatLine,
  type Happening,
  type Header,
  type HeaderList,
  headerOf,
  type Line,
  leftOutAs,
} from "./recording.js";
export { secretsInEnvironment } from "./redaction/names.js";
export { type RedactOptions, Redactor } from "./redaction/redactor.js";
export { type Answering, type Arriving, inMemory, type Opened, type Replayed } from "./replay/answering.js";
export { type ReplayClientOptions, replayClient } from "./replay/client.js";
export {
  type LoadedRecording,
  loadRecording,
  type RecordedConnection,
  type Step,
  transcriptRecording,
  uncompared,
  unsendable,
} from "./replay/loaded.js";
export { type Difference, formatDifferences, type MatchOptions } from "./replay/match.js";
export { formatProblem, type Problem, type ReplayOptions } from "./replay/replay.js";
export { ReplayServer } from "./replay/server.js";
export { type Recordable, type Recording, record } from "./tap.js";
export { urlAt } from "./target.js";
export { type Finding, type Note, type OpenAsk, type Totals, Verifier } from "./verify.js";
