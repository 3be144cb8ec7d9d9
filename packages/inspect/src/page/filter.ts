import type { Row } from "../row.js";

export interface Filter {
  /** A word of the row's type, kind or call. */
  readonly type: string;
  readonly text: string;
  readonly connection: number | undefined;
  /** Only rows with a flaw, refusals, losses, and what the contract does not know. */
  readonly flawed: boolean;
  readonly beats: boolean;
}

export const everything: Filter = { type: "", text: "", connection: undefined, flawed: false, beats: true };

/** Whether a row is a refusal: an answer with 4xx or 5xx, or its body. */
export function isRefusal({ status = 0 }: Pick<Row, "status">): boolean {
  return status >= 400;
}

function isWrong(row: Row): boolean {
  return (
    row.flaws !== undefined ||
    row.unknown === true ||
    row.rereading !== undefined ||
    row.kind === "error" ||
    isRefusal(row)
  );
}

export function isBeat({ kind }: Row): boolean {
  return kind === "ping" || kind === "pong" || kind === "comment";
}

/** Texts are compared without case. Of texts that are longer than their row, the server searches the rest: `found` has the rows. */
export function matcher(
  { type, text, connection, flawed, beats }: Filter,
  found: ReadonlySet<number> = new Set(),
): (row: Row) => boolean {
  const kind = type.trim().toLowerCase();
  const words = text.toLowerCase();
  return (row) =>
    (connection === undefined || row.c === connection) &&
    (!flawed || isWrong(row)) &&
    (beats || !isBeat(row)) &&
    (kind === "" || `${row.type ?? ""} ${row.kind} ${row.call ?? ""}`.toLowerCase().includes(kind)) &&
    (words === "" || row.text.toLowerCase().includes(words) || found.has(row.n));
}
