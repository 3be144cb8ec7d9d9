/**
 * emacs-agent's transcripts in the document's three formats. The document gives no form for any of them: JSON is the
 * contract's `Transcript`, and the other two say the same under headings, so that each can be read back.
 */
import { emacsAgent, type Transcript, type TranscriptToolCall } from "../src/emacs-agent.js";
import { formatOutline, parseOutline, type Section, TranscriptError } from "./emacs-agent-outline.js";

export type TranscriptFormat = "json" | "markdown" | "org";

export { TranscriptError };

/**
 * Writes a transcript: what the contract names, in Markdown and Org mode without properties beyond it. Messages and tool
 * calls stand in the order of their timestamps, changed files at the end. Throws `RangeError` for a line break in what must
 * stand on one line: ids, paths, names, timestamps.
 */
export function formatTranscript(transcript: Transcript, format: TranscriptFormat): string {
  if (format === "json") return `${JSON.stringify(transcript, null, 2)}\n`;
  return formatOutline(sections(transcript), format);
}

/** Reads it back: `parseTranscript(formatTranscript(t, f), f)` equals `t`. Throws `TranscriptError`. */
export function parseTranscript(text: string, format: TranscriptFormat): Transcript {
  const transcript = format === "json" ? json(text) : unsections(parseOutline(text, format, isMessage));
  const check = emacsAgent.checks.Transcript!;
  if (check(transcript)) return transcript as Transcript;
  const flaw = check.errors![0]!;
  throw new TranscriptError(`the transcript breaks its schema at "${flaw.instancePath}" (${flaw.keyword})`);
}

const roles = { User: "user", Assistant: "assistant" } as const;
const isMessage = (title: string): title is keyof typeof roles => Object.hasOwn(roles, title);
const toolCall = "Tool Call: ";
const file = "File: ";

function sections(transcript: Transcript): Section[] {
  const { session_id, project_path, model, started_at, ended_at, messages, tool_calls, file_changes } = transcript;
  const project = project_path.split("/").findLast(Boolean) ?? project_path;
  const said = messages.map(({ role, content, timestamp }) => {
    return { depth: 3, title: role === "user" ? "User" : "Assistant", timestamp, text: content };
  });
  const called = tool_calls.map(({ tool, timestamp, tool_call_id, status, ...shown }) => {
    return { depth: 4, title: toolCall + tool, timestamp, fields: { tool_call_id, status }, blocks: blocks(shown) };
  });
  const changed = file_changes.map(({ path, operation, timestamp }) => {
    return { depth: 3, title: file + path, timestamp, fields: { operation } };
  });
  const head = { session_id, project_path, model, started_at, ...(ended_at !== undefined && { ended_at }) };
  return [
    { depth: 1, title: `Agent Session - ${project}`, fields: head },
    { depth: 2, title: "Conversation" },
    ...merge(said, called),
    { depth: 2, title: "Files Changed" },
    ...changed,
  ];
}

function blocks({ params, result, message }: Pick<TranscriptToolCall, "params" | "result" | "message">) {
  const texts = { params: JSON.stringify(params, null, 2), result, message };
  return Object.fromEntries(Object.entries(texts).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Both in their own order, and of the two next ones the earlier first. */
function merge(left: readonly (Section & Stamped)[], right: readonly (Section & Stamped)[]): Section[] {
  const merged: Section[] = [];
  let next = 0;
  for (const section of left) {
    while (next < right.length && right[next]!.timestamp < section.timestamp) merged.push(right[next++]!);
    merged.push(section);
  }
  return [...merged, ...right.slice(next)];
}

type Stamped = { readonly timestamp: string };

function unsections([head, ...rest]: Section[]): unknown {
  const messages = [];
  const tool_calls = [];
  const file_changes = [];
  for (const { depth, title, timestamp, text, fields, blocks, line } of rest) {
    if (depth === 2) continue;
    if (isMessage(title)) messages.push({ role: roles[title], content: text, timestamp });
    else if (title.startsWith(file)) file_changes.push({ path: title.slice(file.length), ...fields, timestamp });
    else if (title.startsWith(toolCall)) {
      const { params = "", ...shown } = blocks ?? {};
      const { tool_call_id, ...state } = fields ?? {};
      const tool = title.slice(toolCall.length);
      tool_calls.push({ tool_call_id, tool, params: json(params, line), ...state, ...shown, timestamp });
    } else throw new TranscriptError(`"${title}" is not a message, a tool call or a file`, line);
  }
  return { ...head?.fields, messages, tool_calls, file_changes };
}

function json(text: string, line?: number): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new TranscriptError((error as Error).message, line);
  }
}
