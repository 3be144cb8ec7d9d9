import type { Answer } from "../http/answer.js";
import type { Sink, SseWriter } from "./writer.js";

/** A block of an event without a name, as `encode` writes it, or a comment. */
const BLOCK = /^(?:data: (.*)|:.*)\n\n/gm;

/** An answer of Server-Sent Events as one of lines of JSON, which have no heartbeats. */
export function asLines({ headers, body, ...answer }: Answer, type: string): Answer {
  if (typeof body === "string") return { ...answer, headers, body };
  return { ...answer, headers: { ...headers, "Content-Type": `${type}; charset=utf-8` }, body: lined(body) };
}

function lined(body: SseWriter): SseWriter {
  return {
    run: (sink) => {
      const write: Sink["write"] = (events) => {
        const lines = String(events).replace(BLOCK, (_, data?: string) => (data === undefined ? "" : `${data}\n`));
        return lines === "" ? undefined : sink.write(lines);
      };
      return body.run({
        write,
        end: () => sink.end(),
        cut: () => sink.cut(),
        ...(sink.cutAfterWrites && { cutAfterWrites: () => sink.cutAfterWrites!() }),
      });
    },
  };
}
