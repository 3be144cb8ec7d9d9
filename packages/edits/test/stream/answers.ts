import { readFileSync } from "node:fs";
import { type EditOptions, readEdits } from "../../src/read/edits.js";
import type { EditEvent } from "../../src/read/format.js";

/** A model's output and what is read from it, in the notation of `show`. */
export interface Answer {
  readonly name: string;
  readonly options: EditOptions;
  readonly text: string;
  readonly expected: string;
}

/**
 * The cases of `answers.txt`. `%%%%` begins one, options as JSON behind the name; `%%%%>` begins what is expected. ␍ is a
 * carriage return; ␄ ends a text without a line feed.
 */
export function readAnswers(): Answer[] {
  const data = readFileSync(new URL("./answers.txt", import.meta.url), "utf8");
  return data
    .split(/^%%%% /m)
    .slice(1)
    .map((piece) => {
      const [input = "", expected = ""] = piece.split(/^%%%%>\n/m);
      const head = input.slice(0, input.indexOf("\n"));
      const [, name, options] = /^(.*?)(?: (\{.*\}))?$/.exec(head)!;
      const text = input
        .slice(head.length + 1)
        .replaceAll("␍", "\r")
        .replace(/␄\n$/, "");
      return { name: name!, options: options === undefined ? {} : JSON.parse(options), text, expected };
    });
}

/** All events of a text that comes in these pieces, adjacent text joined: what the law speaks of. */
export function eventsOf(pieces: Iterable<string>, options: EditOptions = {}): EditEvent[] {
  const reader = readEdits(options);
  const joined: EditEvent[] = [];
  const add = (events: EditEvent[]) => {
    for (const event of events) {
      const last = joined[joined.length - 1];
      if (event.type === "text" && last?.type === "text")
        joined[joined.length - 1] = { type: "text", text: last.text + event.text };
      else joined.push(event);
    }
  };
  for (const piece of pieces) add(reader.push(piece));
  add(reader.end());
  return joined;
}

/** One line an event, hunks below; progress is left out, a law of its own holds for it. */
export function show(events: readonly EditEvent[]): string {
  const lines: string[] = [];
  for (const event of events) {
    if (event.type === "text") lines.push(`text ${JSON.stringify(event.text)}`);
    else if (event.type === "start") lines.push(`start ${event.format}`);
    else if (event.type === "path") lines.push(`path ${event.path}`);
    else if (event.type === "error")
      lines.push(`error ${event.error.reason} at ${event.error.line}: ${event.error.message}`);
    else if (event.type === "edit" || event.type === "doubtful") {
      for (const { kind, before, after, whole, reason, hunks } of event.patch.files) {
        lines.push(
          `${event.type} ${[kind, ...new Set([before, after].filter((path) => path !== null)), whole ? "whole" : "", reason === undefined ? "" : `(${reason})`].filter(Boolean).join(" ")}`,
        );
        for (const hunk of hunks) {
          const place = hunk.oldStart === null ? "?" : `-${hunk.oldStart} +${hunk.newStart}`;
          const address = [hunk.section ?? [], (hunk.anchors ?? []).map((anchor) => `below ${anchor}`)]
            .flat()
            .join(", ");
          lines.push(
            `  @ ${place}${address && ` ${address}`}${hunk.atEnd ? " at-end" : ""}${hunk.oldNoNewline ? " old-without-newline" : ""}${hunk.newNoNewline ? " new-without-newline" : ""}`,
          );
          for (const line of hunk.lines) lines.push(`  |${line.replaceAll("\r", "␍")}`);
        }
      }
      for (const repair of event.repairs) lines.push(`  repaired ${repair.kind} at ${repair.line}`);
    }
  }
  return lines.map((line) => `${line}\n`).join("");
}
