import type { TranscriptLine } from "@parlance/wire";
import type { Finding } from "../finding.js";
import { messageOf } from "../prefix.js";
import type { Subject } from "./subject.js";

/** A transcript uses only calls and messages of the contract. Tests check that its bytes decode to it: that needs the wire. */
export function* conversations({ contract, transcripts }: Subject): Generator<Finding> {
  const sentinels = Object.values(contract.operations).flatMap(({ answer }) => answer.stream?.sentinel ?? []);
  const messages = Object.keys(contract.messages);
  for (const [name, lines] of Object.entries(transcripts)) {
    const finding = (line: number, place: string, message: string): Finding => ({
      rule: "transcript",
      file: `transcripts/${name}.jsonl`,
      pointer: `/${line}${place}`,
      message,
    });
    for (const [index, line] of lines.entries()) {
      if (!known(line)) {
        yield finding(
          index,
          "",
          "is not a line of a transcript; write a note, a call, an answer with status and body, a message with wire, or an end",
        );
        continue;
      }
      if ("call" in line && !(line.call in contract.operations) && !(line.call in contract.channels))
        yield finding(index, "/call", `there is no operation or channel ${line.call}`);
      if ("wire" in line && line.message && messageOf(contract, messages, String(line.message.type)) === undefined)
        yield finding(index, "/message/type", `there is no message ${line.message.type}`);
      if (
        "wire" in line &&
        !line.message &&
        !line.unknown &&
        !sentinels.some((one) => line.wire.includes(`data: ${one}`))
      )
        yield finding(index, "", 'has no "message"; for a frame that no message matches, write "unknown": true');
    }
  }
}

function known(line: TranscriptLine): boolean {
  const { note, from, call, status, wire, end } = line as Partial<Record<string, unknown>>;
  if (note !== undefined) return typeof note === "string";
  if (from !== "client" && from !== "server") return false;
  return [call, status, wire, end].filter((word) => word !== undefined).length === 1;
}
