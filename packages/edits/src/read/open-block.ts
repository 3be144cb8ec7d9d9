import { withoutReturn } from "../lines.js";
import { gather } from "./change.js";
import { type Fence, outdent } from "./fence.js";
import type { Block, BlockEnd, FormatName } from "./format.js";
import { attempt, Unreadable, unreadable } from "./message.js";
import type { EditEvent } from "./reader.js";

/** A block being read, with its lines and the events emitted so far. */
export interface OpenBlock {
  readonly block: Block;
  readonly format: FormatName;
  readonly edit: number;
  /** Number of the block's first line in the output, counted from 1. */
  readonly firstLine: number;
  readonly fence: Fence | null;
  /** Lines before the opening one. */
  readonly start: number;
  /** The lines with their line ends; none once the block exceeds the limit, when only its end is looked for. */
  raws: string[] | null;
  size: number;
  /** Lines that are the block's only if the next one is. */
  maybe: string[];
  heldSize: number;
  path: string | null;
  /** How many lines have been emitted; -1 if the block itself has not. */
  told: number;
}

/** The line as the block reads it. */
export function lineOf(raw: string, fence: Fence | null): string {
  return outdent(raw.endsWith("\n") ? raw.slice(0, -1) : raw, fence);
}

/** Emits new events of the block. A block that may turn out to be text is emitted at its end. */
export function tell(open: OpenBlock, emit: (event: EditEvent) => void): void {
  const { block, edit, raws } = open;
  if (raws === null) return;
  if (open.told < 0) {
    open.told = 0;
    emit({ type: "start", edit, format: open.format });
  }
  if (block.path !== null && block.path !== open.path) {
    open.path = block.path;
    emit({ type: "path", edit, path: block.path });
  }
  while (open.told < raws.length) emit({ type: "progress", edit, text: raws[open.told++]! });
}

/** Reports that the block is too long and drops its lines. */
export function overflow(open: OpenBlock, limit: number, emit: (event: EditEvent) => void): void {
  fail(open, unreadable(open.raws!.length, "too-long", `over ${limit} UTF-16 code units`), emit);
  open.raws = null;
  open.maybe = [];
}

/** Reads the block as a whole and emits its result. */
export function closeBlock(open: OpenBlock, end: BlockEnd, emit: (event: EditEvent) => void): void {
  const { block, edit, fence, firstLine, start, raws } = open;
  if (raws === null) return;
  tell(open, emit);
  const lines = raws.map((raw) => lineOf(raw, fence));
  const torn = !raws.at(-1)!.endsWith("\n");
  const read = attempt((repairs) => block.read({ lines, start, end, torn, repairs }));
  if (read instanceof Unreadable) return fail(open, read, emit);
  // In place: a block may have a repair for each of its lines.
  for (const repair of read.repairs) repair.line += firstLine;
  emit({ type: "edit", edit, patch: gather(read.files), repairs: read.repairs });
}

function fail({ edit, firstLine, raws }: OpenBlock, error: Unreadable, emit: (event: EditEvent) => void): void {
  const { line, reason, message } = error;
  emit({ type: "error", edit, error: { line: firstLine + line, reason, message }, source: raws!.join("") });
}

/** The line without its end. */
export function chomp(raw: string): string {
  return raw.endsWith("\n") ? withoutReturn(raw.slice(0, -1)) : raw;
}
