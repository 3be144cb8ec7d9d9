import type { Row } from "../row.js";
import { milliseconds } from "./calls.js";
import { isBeat, isRefusal } from "./filter.js";
import { visibleLine } from "./inert.js";
import type { LogView } from "./store.js";
import { Virtual } from "./virtual.js";

const HEIGHT = 26;

interface TimelineProps {
  readonly view: LogView;
  readonly chosen: Row | undefined;
  readonly choose: (row: Row) => void;
}

export function Timeline({ view, chosen, choose }: TimelineProps) {
  const { shown } = view;
  return (
    <Virtual
      id="rows"
      label="Messages"
      count={shown.length}
      height={HEIGHT}
      chosen={chosen ? positionOf(shown, chosen.n) : -1}
      follow
      choose={(at) => choose(shown[at]!)}
      row={(at) => <Line row={shown[at]!} gap={view.gaps.get(shown[at]!.n)} />}
      empty={view.rows.length === 0 ? "Nothing has passed yet." : "No message passes the filter."}
    />
  );
}

/** Rows are in the order of their numbers. */
function positionOf(rows: readonly Row[], n: number): number {
  let [low, high] = [0, rows.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = rows[middle]!.n;
    if (found === n) return middle;
    if (found < n) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

function Line({ row, gap }: { readonly row: Row; readonly gap: number | undefined }) {
  const broken = row.flaws !== undefined;
  return (
    <div class={`line ${kindOf(row)}${broken ? " broken" : ""}`}>
      <span class="time">{(row.t / 1000).toFixed(3)}</span>
      <span class={`connection connection${row.c % 8}`}>{row.c}</span>
      <span
        class={`side ${row.from}`}
        role="img"
        aria-label={row.from === "client" ? "from the client" : "from the server"}
      >
        {row.from === "client" ? "→" : "←"}
      </span>
      <span class="type">{visibleLine(row.type ?? wordOf(row))}</span>
      {gap !== undefined && <span class="mark gap">gap {milliseconds(gap)}</span>}
      {row.resumes && <span class="mark">resumes</span>}
      {row.unknown && <span class="mark unknown">unknown</span>}
      {row.rereading && <span class="mark unknown">read by a rule</span>}
      {broken && <span class="mark flaw">{row.flaws!.map(({ rule }) => rule).join(", ")}</span>}
      {row.ask && <span class="mark">asks</span>}
      {row.edits && <span class="mark edits">edits</span>}
      <span class="text">
        <bdi>{visibleLine(row.text.slice(0, 300))}</bdi>
      </span>
    </div>
  );
}

function kindOf(row: Row): "fault" | "cut" | "refusal" | "beat" | "plain" {
  if (row.kind === "fault") return "fault";
  if (row.kind === "error") return "cut";
  if (isRefusal(row)) return "refusal";
  return isBeat(row) ? "beat" : "plain";
}

function wordOf({ kind, call }: Row): string {
  if (kind === "request") return call ?? "request";
  if (kind === "error") return "cut";
  return kind;
}
