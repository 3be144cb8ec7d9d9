import { escapeStep } from "@parlance/wire/internal/pointer";
import type { ComponentChildren } from "preact";
import { readInnerJson } from "../inner-json.js";
import { visible } from "./inert.js";

/** Children that are shown at once; the rest comes with a button of the browser's own, `details`. */
const MAX_CHILDREN = 200;

/** The most levels that are shown: a peer may nest thousands. */
const MAX_DEPTH = 64;

interface TreeProps {
  readonly value: unknown;
  /** JSON Pointers that are wrong. */
  readonly wrong: readonly string[];
  readonly name?: string;
  readonly at?: string;
  readonly depth?: number;
}

/** A JSON value as a tree. Nothing of it is HTML: the framework writes it as text. */
export function Tree({ value, wrong, name, at = "", depth = 0 }: TreeProps) {
  const isWrong = wrong.includes(at);
  const label = name === undefined ? null : <span class="key">{visible(name)}: </span>;
  if (depth >= MAX_DEPTH) return <p class="soft">and deeper levels, in the text beside it</p>;
  const inner = typeof value === "string" ? readInnerJson(value) : undefined;
  if (inner)
    return (
      <Branch value={inner.value} wrong={[]} at={at} depth={depth} isWrong={isWrong} label={label}>
        <span class="mark">{inner.isCut ? "JSON in a string, incomplete" : "JSON in a string"}</span>
      </Branch>
    );
  if (typeof value !== "object" || value === null)
    return (
      <div class={isWrong ? "leaf wrong" : "leaf"}>
        {label}
        <bdi class={`value ${value === null ? "null" : typeof value}`}>{shown(value)}</bdi>
        {isWrong && <span class="mark flaw">here</span>}
      </div>
    );
  return <Branch value={value} wrong={wrong} at={at} depth={depth} isWrong={isWrong} label={label} />;
}

interface BranchProps extends Required<Pick<TreeProps, "wrong" | "at" | "depth">> {
  readonly value: object;
  readonly isWrong: boolean;
  readonly label: ComponentChildren;
  readonly children?: ComponentChildren;
}

function Branch({ value, wrong, at, depth, isWrong, label, children }: BranchProps) {
  const entries = Object.entries(value);
  const bracket = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  const first = entries.slice(0, MAX_CHILDREN);
  return (
    <details open={depth < 3 || wrong.some((one) => one.startsWith(at))} class={isWrong ? "wrong" : undefined}>
      <summary>
        {label}
        <span class="value">{bracket}</span> {children}
        {isWrong && <span class="mark flaw">here</span>}
      </summary>
      <div class="inner">
        {first.map(([key, one]) => (
          <Tree key={key} name={key} value={one} wrong={wrong} at={`${at}/${escapeStep(key)}`} depth={depth + 1} />
        ))}
        {entries.length > first.length && (
          <p class="soft">and {entries.length - first.length} more, in the text beside it</p>
        )}
      </div>
    </details>
  );
}

/** Characters of one string that are shown. */
const MAX_STRING = 20_000;

function shown(value: unknown): string {
  if (typeof value !== "string") return String(value);
  const text = JSON.stringify(value).replaceAll("\\n", "\n");
  const rest = text.length - MAX_STRING;
  return visible(text.slice(0, MAX_STRING)) + (rest > 0 ? ` … and ${rest} more characters` : "");
}
