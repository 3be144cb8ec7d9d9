import type { AnyContract, TranscriptLine } from "@parlance/wire";
import type { Entry } from "../recording.js";
import { TranscriptEntries, transcriptHeader } from "../transcript.js";
import { type Tape, takesOf } from "./tape.js";

/** A contract's transcript as a recording. */
export function tapeOf(contract: AnyContract, lines: readonly TranscriptLine[]): Tape {
  const entries: Entry[] = [];
  const reader = new TranscriptEntries(contract, (entry) => void entries.push(entry));
  for (const line of lines) reader.line(line);
  reader.end();
  const ending = { state: "complete", lines: lines.length } as const;
  return { header: transcriptHeader(contract), entries, takes: takesOf(entries), ending };
}
