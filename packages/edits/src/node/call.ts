import { splitLines } from "../lines.js";
import type { Patch } from "../patch.js";
import { replaceFile } from "../read/change.js";
import { parseEdits } from "../read/edits.js";
import { attempt, Unreadable } from "../read/message.js";
import { type Call, readCalls, readChange } from "../read/str-replace.js";
import { type PlanConflict, Refused, toConflict } from "./conflict.js";
import { quote, stripRoot } from "./names.js";
import { claimName, look, type Stage } from "./stage.js";

/**
 * A tool call of a model that edits files: `{ name, input }`, `{ name, arguments }` or `{ function }` as providers wrap it,
 * its arguments alone, or JSON text of any of these.
 */
export type ToolCall = object | string;

type CallReading = { readonly patch: Patch } | { readonly conflict: PlanConflict };

/** Reads a tool call as patches. Each is read when the ones before it are staged, because it is about their result. */
export async function* readToolCall(stage: Stage, value: unknown): AsyncGenerator<CallReading> {
  const calls = readCalls(value);
  if (calls.length === 0) yield refuse(null, "The value is neither a patch nor a tool call that edits files.");
  for (const call of calls) {
    const path = call.path && stripRoot(call.path, stage.roots);
    if (call.patch !== undefined) yield readDiff(call.patch, call.path);
    else if (path === undefined) yield refuse(null, "The tool call names no file; write its path as `path`.");
    else yield await readOne(stage, call, path).catch((error) => ({ conflict: toConflict(error, path) }));
  }
}

function refuse(path: string | null, message: string): CallReading {
  return { conflict: { path, reason: "malformed", message } };
}

async function readOne(stage: Stage, call: Call, given: string): Promise<CallReading> {
  const path = claimName(stage, given);
  const state = await look(stage, path);
  const message = `${quote(path)} does not exist. Check the path, or send the whole text of a new file.`;
  if (state === null && call.command === "str_replace" && call.old) throw new Refused(path, "missing", message);
  const options = state === null ? {} : { text: state.text };
  const read = attempt((repairs) => {
    if (state === null || !call.replaces) return readChange({ ...call, path }, options, repairs);
    const { lines, newlineAtEnd } = splitLines(call.text!);
    return [replaceFile(path, lines, newlineAtEnd, 0)];
  });
  if (read instanceof Unreadable) return refuse(path, `${quote(path)}: ${read.message}`);
  return { patch: { files: read.files } };
}

function readDiff(text: string, path: string | undefined): CallReading {
  const reading = parseEdits(text, path === undefined ? {} : { path });
  if (reading.ok) return { patch: reading.patch };
  const messages = reading.errors.map(({ line, message }) => `Line ${line}: ${message}`);
  return refuse(null, messages.slice(0, 5).join("\n"));
}
