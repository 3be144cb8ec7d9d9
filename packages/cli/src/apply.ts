import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { formatPatch, type Patch, parseEdits, type ReadError, type Repair } from "@parlance/edits";
import { applyPlan, type Plan, type PlanConflict, planEdits } from "@parlance/edits/node";
import { replaceHidden } from "@parlance/wire/internal/escape";
import { exit, type Io, type Options, UsageError } from "./io.js";

export const help = `parlance apply [--check] [--root DIR] [--path FILE] [--whole-files] [--json] FILE...|-

Applies edits to the files below DIR, all of them or none, and shows what changes as a unified diff. FILE, or the
standard input for -, holds edits in any form that models write: unified diffs, edit blocks, SEARCH/REPLACE blocks,
*** Begin Patch, str_replace calls; with prose around them or not.

  --check         change nothing, only say what would change
  --root DIR      the directory that paths are relative to, and that nothing is written outside of (default .)
  --path FILE     the file that an edit is about which names none
  --whole-files   take a path with a fenced block below it for that file's whole new text
  --json          one JSON document: { "ok", "files": [{ path, before, after }], "preview", "inverse", "repairs",
                  "conflicts": [{ path, reason, message }] }; before and after are sha256:<hex> of the bytes, or null

Exit codes: 0 applied (with --check: would apply), 1 a conflict, or an edit that cannot be read, and nothing was written,
2 usage, or a file that cannot be read.
`;

/** Colours are used on a terminal, except with NO_COLOR (https://no-color.org). */
export interface ApplyIo extends Io {
  readonly tty?: boolean;
}

interface Outcome {
  readonly ok: boolean;
  readonly files: readonly { readonly path: string; readonly before: string | null; readonly after: string | null }[];
  /** Unified diffs: of the changes, and of their reverse. */
  readonly preview: string;
  readonly inverse: string | null;
  readonly repairs: readonly (Repair & { readonly source: string })[];
  readonly conflicts: readonly PlanConflict[];
}

export const options = {
  check: { type: "boolean" },
  root: { type: "string", default: "." },
  path: { type: "string" },
  "whole-files": { type: "boolean" },
  json: { type: "boolean" },
} as const satisfies Options;

export async function command(argv: string[], io: ApplyIo): Promise<number> {
  const { values, positionals } = parseArgs({ args: argv, options, allowPositionals: true });
  const { check = false } = values;
  if (positionals.length === 0) throw new UsageError("name a file with edits, or - for the standard input");
  const root = resolve(io.cwd, values.root);
  if (!(await stat(root)).isDirectory()) throw new UsageError(`${values.root} is not a directory`);

  const patches: Patch[] = [];
  const repairs: (Repair & { source: string })[] = [];
  const unread: PlanConflict[] = [];
  for (const source of positionals) {
    const options = { path: values.path, wholeFiles: values["whole-files"] };
    const reading = parseEdits(await readSource(source, io), options);
    if (reading.ok) {
      patches.push(reading.patch);
      repairs.push(...reading.repairs.map((repair) => ({ source, ...repair })));
    } else unread.push(...reading.errors.map((error) => unreadable(source, error)));
  }
  const plan = await planEdits(patches, { root });
  const conflicts = [...unread, ...plan.conflicts];
  const outcome = await carryOut({ ...plan, conflicts }, root, repairs, check);
  if (values.json) io.out(`${JSON.stringify(outcome, null, 2)}\n`);
  else print(outcome, check, io);
  return outcome.ok ? exit.fine : exit.findings;
}

async function carryOut(plan: Plan, root: string, repairs: Outcome["repairs"], check: boolean): Promise<Outcome> {
  const preview = formatPatch(plan.preview);
  const files = plan.files.map(({ path, before, after }) => ({
    path,
    before: before?.hash ?? null,
    after: after?.hash ?? null,
  }));
  if (check)
    return { ok: plan.conflicts.length === 0, files, preview, inverse: null, repairs, conflicts: plan.conflicts };
  const written = await applyPlan(plan, { root });
  return written.ok
    ? { ok: true, files, preview, inverse: formatPatch(written.inverse), repairs, conflicts: [] }
    : { ok: false, files, preview, inverse: null, repairs, conflicts: written.conflicts };
}

async function readSource(source: string, io: Io): Promise<string> {
  const chunks: Uint8Array[] = [];
  if (source !== "-") chunks.push(await readFile(resolve(io.cwd, source)));
  else
    for await (const chunk of io.stdin)
      chunks.push(typeof chunk === "string" ? new TextEncoder().encode(chunk) : chunk);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new UsageError(`${source} is not valid UTF-8`);
  }
}

function unreadable(source: string, { line, message }: ReadError): PlanConflict {
  return { path: null, reason: "malformed", message: `${source}:${line}: ${message}` };
}

function print({ ok, files, preview, repairs, conflicts }: Outcome, check: boolean, io: ApplyIo): void {
  const tty = io.tty ?? false;
  io.out(tty ? showOnTerminal(preview, !io.env.NO_COLOR) : preview);
  for (const { source, line, message } of repairs) io.err(`${source}:${line}: repaired: ${message}\n`);
  for (const { message, reason } of conflicts) io.err(`${message} [${reason}]\n`);
  const count = `${files.length} ${files.length === 1 ? "file" : "files"}`;
  if (!ok) io.err("Nothing was written.\n");
  else io.err(check ? `${count} would change.\n` : `${count} changed.\n`);
}

const COLORS: readonly (readonly [start: string, code: number])[] = [
  ["diff ", 1],
  ["--- ", 1],
  ["+++ ", 1],
  ["@@", 36],
  ["+", 32],
  ["-", 31],
];

/** A diff for a terminal. Patches are untrusted, so hidden characters are shown as symbols. */
function showOnTerminal(diff: string, color: boolean): string {
  const lines = diff.split("\n").map((line) => {
    const shown = replaceHidden(line, symbol);
    const code = COLORS.find(([start]) => line.startsWith(start))?.[1];
    return color && code !== undefined ? `\x1b[${code}m${shown}\x1b[0m` : shown;
  });
  return lines.join("\n");
}

function symbol(control: string): string {
  const code = control.charCodeAt(0);
  if (control === "\t") return control;
  return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd";
}
