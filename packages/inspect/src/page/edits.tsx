import { useEffect, useState } from "preact/hooks";
import type { Change, ReviewAnswer, ReviewFile, ReviewView } from "../review.js";
import { post } from "./api.js";
import { visible, visibleLine } from "./inert.js";

/** The edits of a text as a diff: each change and each file is accepted or rejected, and what is accepted is applied. */
export function Edits({ review }: { readonly review: ReviewView }) {
  const all = review.files.flatMap(({ changes }) => changes.filter(({ conflict }) => !conflict).map(({ id }) => id));
  const [accepted, setAccepted] = useState<ReadonlySet<string>>(new Set(review.applied ?? all));
  const [isApplied, setApplied] = useState(review.applied !== undefined);
  const [answer, setAnswer] = useState<ReviewAnswer>();
  useEffect(() => {
    setAccepted(new Set(review.applied ?? all));
    setApplied(review.applied !== undefined);
    setAnswer(undefined);
  }, [review.id]);
  const call = async (path: string, body: object, after: boolean) => {
    try {
      const came = await post<ReviewAnswer>(path, body);
      setAnswer(came);
      if (came.ok) setApplied(after);
    } catch (error) {
      setAnswer({ ok: false, text: (error as Error).message });
    }
  };
  const toggle = (ids: readonly string[], on: boolean) => {
    const next = new Set(accepted);
    for (const id of ids) on ? next.add(id) : next.delete(id);
    setAccepted(next);
  };
  const { root, files, problems } = review;
  return (
    <section class="edits" aria-labelledby="edits-title">
      <h2 id="edits-title">Edits</h2>
      {root !== undefined && <p class="soft root">{root}</p>}
      {problems.map((one) => (
        <p class="problem" key={one}>
          Cannot be read: {visible(one)}
        </p>
      ))}
      {files.length === 0 && problems.length === 0 && <p class="soft">There are no edits in it.</p>}
      {files.length > 0 && (
        <p class="buttons">
          <output id="count">
            {accepted.size} of {all.length} accepted
          </output>
          {root === undefined ? (
            <span class="soft">To apply them, start the inspector with --root.</span>
          ) : isApplied ? (
            <button type="button" id="undo" onClick={() => call("/api/undo", { review: review.id }, false)}>
              Undo
            </button>
          ) : (
            <button
              type="button"
              id="apply"
              class="primary"
              disabled={accepted.size === 0}
              onClick={() => call("/api/apply", { review: review.id, changes: [...accepted] }, true)}
            >
              Apply
            </button>
          )}
        </p>
      )}
      <p id="message" role="status" class={answer ? (answer.ok ? "good" : "problem") : ""}>
        {answer && visible(answer.text)}
      </p>
      {files.map((file, at) => (
        <File key={at} file={file} accepted={accepted} disabled={isApplied || root === undefined} toggle={toggle} />
      ))}
    </section>
  );
}

interface FileProps {
  readonly file: ReviewFile;
  readonly accepted: ReadonlySet<string>;
  readonly disabled: boolean;
  readonly toggle: (ids: readonly string[], on: boolean) => void;
}

function File({ file, accepted, disabled, toggle }: FileProps) {
  const { path, from, kind, reason, changes } = file;
  const ids = changes.filter(({ conflict }) => !conflict).map(({ id }) => id);
  return (
    <section class="file" aria-label={path}>
      <h3>
        <label>
          <input
            type="checkbox"
            name="file"
            disabled={disabled || ids.length === 0}
            checked={ids.length > 0 && ids.every((id) => accepted.has(id))}
            onChange={(event) => toggle(ids, event.currentTarget.checked)}
          />{" "}
          <span class={`mark ${kind}`}>{kind}</span> {from && `${visibleLine(from)} → `}
          {visibleLine(path)}
        </label>
      </h3>
      {reason && <p class="soft">{visible(reason)}</p>}
      {changes.map((change, at) => (
        <div class={`change ${accepted.has(change.id) ? "" : "rejected"}`} key={change.id}>
          <label>
            <input
              type="checkbox"
              name="change"
              value={change.id}
              disabled={disabled || change.conflict !== undefined}
              checked={accepted.has(change.id)}
              onChange={(event) => toggle([change.id], event.currentTarget.checked)}
            />{" "}
            {change.line === undefined ? "Change" : `Line ${change.line}`} <Counts change={change} />
          </label>
          {change.conflict && <pre class="problem">{visible(change.conflict)}</pre>}
          {change.lines.length > 0 && <Diff lines={change.lines} label={`${path}, change ${at + 1}`} />}
        </div>
      ))}
    </section>
  );
}

function Counts({ change: { lines } }: { readonly change: Change }) {
  const count = (mark: string) => lines.filter((line) => line.startsWith(mark)).length;
  return (
    <span>
      <span class="added">+{count("+")}</span> <span class="removed">−{count("-")}</span>
    </span>
  );
}

/** The old lines on the left, the new ones on the right; what was changed stands side by side. */
function Diff({ lines, label }: { readonly lines: readonly string[]; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <section class="diff" aria-label={label} tabIndex={0}>
      <table>
        <tbody>
          {sidesOf(lines).map(([old, next], at) => (
            <tr key={at}>
              <Cell line={old} />
              <Cell line={next} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Cell({ line }: { readonly line: string | undefined }) {
  const mark = line?.[0] ?? "";
  const kind = mark === "+" ? "added" : mark === "-" ? "removed" : line === undefined ? "none" : "";
  return (
    <td class={kind}>
      <span class="sign">{mark === " " ? "" : mark}</span>
      <bdi>{visible(line?.slice(1) ?? "")}</bdi>
    </td>
  );
}

export function sidesOf(lines: readonly string[]): [old: string | undefined, next: string | undefined][] {
  const rows: [string | undefined, string | undefined][] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) rows.push([removed[at], added[at]]);
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.startsWith("-")) removed.push(line);
    else if (line.startsWith("+")) added.push(line);
    else {
      flush();
      rows.push([line, line]);
    }
  }
  flush();
  return rows;
}
