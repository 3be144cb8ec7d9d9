export {
  type Entry,
  type EventLog,
  type EventWriter,
  type LogState,
  type MemoryLogOptions,
  memoryLog,
} from "./resume/event-log.js";
export { testEventLog } from "./resume/testing.js";
