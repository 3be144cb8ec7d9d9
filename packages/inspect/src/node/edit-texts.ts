import type { Conversations, Entry } from "@parlance/recordings";
import { isObject, Violation } from "@parlance/wire";
import { readInnerJson } from "../inner-json.js";

/** A text that may hold edits, and the file that it is about where its message names one. */
export interface EditText {
  readonly text: string;
  readonly path?: string;
  /** The text is the JSON of an edit tool's input. */
  readonly isCall?: true;
}

/** Names of properties that hold the path of the file beside them. */
const PATH = /^(\w+_)?(file_?)?path$|^file(_?name)?$/i;

/** Marks of a text that may hold edits; whether it does, the parser says. */
const EDITS = /^@@ |^<{5,9} |^\*\*\* Begin Patch|```edit|^--- |"old_?(?:str|string|text)"/m;

export const mayHoldEdits = (text: string) => EDITS.test(text);

/** Whether a message may hold edits: its texts are escaped, those of JSON in its strings several times. */
export const mayEscapeEdits = (json: string) =>
  mayHoldEdits(json.replace(/\\+n/g, "\n").replace(/\\+"/g, '"').replace(/:"/g, ':"\n'));

/** The input of a tool that replaces one text by another. */
function isCall(value: Readonly<Record<string, unknown>>): boolean {
  const isText = (name: RegExp) =>
    Object.entries(value).some(([key, one]) => name.test(key) && typeof one === "string");
  return isText(/^old_?(str|string|text)$/i) && isText(/^new_?(str|string|text)$/i);
}

/** The texts of one message that may hold edits. */
function textsIn(value: unknown, path?: string, depth = 0): EditText[] {
  if (depth > 64) return [];
  if (Array.isArray(value)) return value.flatMap((one) => textsIn(one, path, depth + 1));
  if (!isObject(value)) return [];
  const entries = Object.entries(value);
  const named = entries.find(([key, one]) => PATH.test(key) && typeof one === "string")?.[1] as string | undefined;
  const own = named ?? path;
  const beside = own !== undefined && { path: own };
  if (isCall(value)) return [{ text: JSON.stringify(value), ...beside, isCall: true }];
  return entries.flatMap(([, one]) => {
    if (typeof one !== "string") return textsIn(one, own, depth + 1);
    const inner = readInnerJson(one);
    if (!inner) return [{ text: one, ...beside }];
    return inner.isCut ? [] : textsIn(inner.value, own, depth + 1);
  });
}

export function textsOfEntry(entry: Entry): EditText[] {
  if (!("text" in entry) || entry.text === undefined) return [];
  try {
    return textsIn(JSON.parse(entry.text)).filter(({ text }) => mayHoldEdits(text));
  } catch {
    return [{ text: entry.text }];
  }
}

/** The text that a stream or channel was written in pieces, as the contract says where it is. */
export function streamedText(talk: Conversations, call: string, entries: Iterable<Entry>): string {
  const { contract } = talk;
  const places = contract.operations[call]?.answer.stream?.text ?? contract.channels[call]?.text;
  let text = "";
  for (const entry of places ? entries : []) {
    if ((entry.kind !== "event" && entry.kind !== "frame") || entry.from !== "server" || entry.text === undefined)
      continue;
    const message = messageOf(talk, call, entry.kind === "event" ? entry.event : undefined, entry.text);
    if (!message) continue;
    const appended = message[places!.append[String(message.type)] ?? ""];
    const final = message[places!.final?.[String(message.type)] ?? ""];
    if (typeof appended === "string") text += appended;
    if (typeof final === "string" && final !== "") text = final;
  }
  return text;
}

function messageOf(talk: Conversations, call: string, event: string | undefined, data: string) {
  try {
    const read = talk.codec(call, "server").decode({ event, data });
    return "message" in read ? (read.message as Readonly<Record<string, unknown>>) : undefined;
  } catch (error) {
    if (error instanceof Violation) return undefined;
    throw error;
  }
}
