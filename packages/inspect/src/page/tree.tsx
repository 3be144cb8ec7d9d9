import { visible } from "./inert.js";

/** Children that are shown at once; the rest comes with a button of the browser's own, `details`. */
const MAX_CHILDREN = 200;

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
  if (typeof value !== "object" || value === null)
    return (
      <div class={isWrong ? "leaf wrong" : "leaf"}>
        {label}
        <bdi class={`value ${value === null ? "null" : typeof value}`}>{shown(value)}</bdi>
        {isWrong && <span class="mark flaw">here</span>}
      </div>
    );
  const entries = Object.entries(value);
  const bracket = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  const first = entries.slice(0, MAX_CHILDREN);
  return (
    <details open={depth < 3 || wrong.some((one) => one.startsWith(at))} class={isWrong ? "wrong" : undefined}>
      <summary>
        {label}
        <span class="value">{bracket}</span>
        {isWrong && <span class="mark flaw">here</span>}
      </summary>
      <div class="inner">
        {first.map(([key, one]) => (
          <Tree
            key={key}
            name={key}
            value={one}
            wrong={wrong}
            at={`${at}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`}
            depth={depth + 1}
          />
        ))}
        {entries.length > first.length && (
          <p class="soft">and {entries.length - first.length} more, in the text beside it</p>
        )}
      </div>
    </details>
  );
}

function shown(value: unknown): string {
  if (typeof value !== "string") return String(value);
  return visible(JSON.stringify(value).replaceAll("\\n", "\n").slice(0, 20_000));
}
