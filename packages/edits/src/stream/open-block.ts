import type { Block, BlockEnd, FormName } from "../forms/block.js";
import { gather } from "../forms/change.js";
import { type Fence, outdent } from "../forms/fence.js";
import type { EditEvent } from "./event.js";

/** A block that is being read, with its lines and what has been told of it. */
export interface OpenBlock {
  readonly block: Block;
  readonly form: FormName;
  readonly edit: number;
  /** Number of the block's first line in the output, counted from 1. */
  readonly firstLine: number;
  readonly fence: Fence | null;
  raws: string[];
  size: number;
  /** Lines that are the block's only if the next one is. */
  maybe: string[];
  path: string | null;
  announced: boolean;
  /** It grew beyond the limit: only its end is still looked for. */
  failed: boolean;
}

/** Adds a line, its line end included, to the block. */
export function keepLine(open: OpenBlock, raw: string, emit: (event: EditEvent) => void): void {
  if (open.failed) return;
  open.raws.push(raw);
  open.size += raw.length;
  if (open.announced) tell(open, [raw], emit);
}

/** Says that the block is there, with the lines it has so far. */
export function announce(open: OpenBlock, emit: (event: EditEvent) => void): void {
  if (open.announced) return;
  open.announced = true;
  emit({ type: "start", edit: open.edit, form: open.form });
  tell(open, open.raws, emit);
}

function tell(open: OpenBlock, raws: readonly string[], emit: (event: EditEvent) => void): void {
  const { block, edit } = open;
  if (block.path !== null && block.path !== open.path) {
    open.path = block.path;
    emit({ type: "path", edit, path: block.path });
  }
  for (const text of raws) emit({ type: "progress", edit, text });
}

/** Says that the block is too long and lets go of its lines. */
export function overflow(open: OpenBlock, limit: number, emit: (event: EditEvent) => void): void {
  const { edit, firstLine, raws } = open;
  const message = `The block that begins at line ${firstLine} is longer than ${limit} UTF-16 code units; read it with a higher limit or ask for smaller edits.`;
  const line = firstLine + raws.length;
  emit({ type: "error", edit, error: { line, reason: "too-long", message }, source: raws.join("") });
  open.failed = true;
  open.raws = [];
  open.maybe = [];
}

/** Reads the block as a whole and says what it means. */
export function closeBlock(open: OpenBlock, end: BlockEnd, emit: (event: EditEvent) => void): void {
  if (open.failed) return;
  announce(open, emit);
  const { block, edit, fence, firstLine, raws } = open;
  const reading = block.read(
    raws.map((raw) => outdent(raw.replace(/\n$/, ""), fence)),
    end,
  );
  if (!reading.ok) {
    const { line, reason, message } = reading;
    emit({ type: "error", edit, error: { line: firstLine + line, reason, message }, source: raws.join("") });
    return;
  }
  const repairs = reading.repairs.map((repair) => ({ ...repair, line: repair.line + firstLine }));
  emit({ type: "edit", edit, patch: gather(reading.files), repairs });
}
