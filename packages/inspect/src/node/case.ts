import type { Conversations, Entry } from "@parlance/recordings";
import { bodyOf, type HeaderList, headerOf, rawOf } from "@parlance/recordings/internal/entries";
import { bind, encode, type TranscriptLine, Violation } from "@parlance/wire";
import { BadRequest } from "./guard.js";

type Request = Extract<Entry, { kind: "request" }>;

/** The connection's conversation as the lines of a transcript: a case that conformance plays. */
export function transcriptOf(talk: Conversations, entries: readonly Entry[], note: string): string {
  const request = entries.find((entry): entry is Request => entry.kind === "request");
  if (!request) throw new BadRequest("the connection's request is no longer held");
  const body = entries.find((entry) => entry.kind === "body" && entry.from === "client");
  const text = body?.kind === "body" ? body.text : undefined;
  const call = callLine(talk, request, text);
  const lines: TranscriptLine[] = [{ note }, call.line];
  let status = 0;
  let headers: HeaderList = [];
  for (const entry of entries) {
    if (entry.kind === "response") ({ status, headers } = entry);
    else if (entry.kind === "body" && entry.from === "server")
      lines.push(answerLine(talk, call.name, status, headers, entry.text ?? ""));
    else if (entry.kind === "event" || entry.kind === "frame") lines.push(messageLine(talk, call.name, entry));
    else if (entry.kind === "error") lines.push({ from: entry.from, end: "cut" });
  }
  // A channel is closed by both sides; the first one ends it.
  const close = entries.find(({ kind }) => kind === "close");
  if (close) lines.push({ from: close.from, end: "close" });
  if (lines.length === 2 && status > 0) lines.push(answerLine(talk, call.name, status, headers, ""));
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

function callLine(talk: Conversations, request: Request, text: string | undefined) {
  const { method, target, headers } = request;
  const asked = tried(() => talk.asked(method, target, headers, bodyOf(text, headers, talk.contract)));
  const name = asked?.name ?? talk.namesAt(method, target)?.[0];
  if (name === undefined) throw new BadRequest(`the contract has no ${method} ${target}`);
  const input = (asked?.input ?? {}) as Record<string, never>;
  const bound = asked && tried(() => bind(talk.contract, name, asked.input));
  const written = bound?.target === target && (bound.body === undefined || JSON.stringify(bound.body) === text);
  const sent = { method, target, ...(text !== undefined && { body: text }) };
  const line: TranscriptLine = {
    from: "client",
    call: name,
    input,
    request: sent,
    ...(!written && { read: true as const }),
  };
  return { name, line };
}

function answerLine(
  talk: Conversations,
  name: string,
  status: number,
  headers: HeaderList,
  body: string,
): TranscriptLine {
  const type = headerOf(headers, "content-type")?.split(";")[0];
  const { answer } = talk.contract.operations[name] ?? {};
  const value =
    status >= 400 ? undefined : answer?.json ? tried(() => JSON.parse(body)) : answer?.text ? body : undefined;
  const read = value === undefined ? undefined : talk.readAnswer(name, value);
  return {
    from: "server",
    status,
    ...(type !== undefined && { type }),
    body,
    ...(read !== undefined && { answer: read }),
  };
}

function messageLine(
  talk: Conversations,
  name: string,
  entry: Extract<Entry, { kind: "event" | "frame" }>,
): TranscriptLine {
  const isEvent = entry.kind === "event";
  const wire = isEvent ? rawOf(entry) : (entry.text ?? "");
  const { from } = entry;
  const codec = talk.codec(name, from);
  const data = { ...(isEvent && { event: entry.event }), data: entry.text ?? "" };
  const read = tried(() => codec.decode(data));
  if (!read || !("message" in read)) return { from, wire, unknown: true };
  const again = tried(() => codec.encode(read.message));
  const usual = again && (isEvent ? encode(again) === wire : again.data === wire);
  return { from, wire, message: read.message as never, ...(!usual && { read: true as const }) };
}

/** Undefined where the peer broke the contract. */
function tried<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Violation || error instanceof TypeError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
