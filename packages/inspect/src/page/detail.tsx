import type { Entry } from "@parlance/recordings";
import { encode } from "@parlance/wire";
import { useEffect, useState } from "preact/hooks";
import type { Row } from "../row.js";
import { sentenceAt } from "../schema.js";
import type { PageContract } from "../state.js";
import { get } from "./api.js";
import { visible, visibleLine } from "./inert.js";
import { Tree } from "./tree.js";

/** Characters of raw bytes that are shown. */
const MAX_RAW = 100_000;

interface DetailProps {
  readonly log: string;
  readonly row: Row;
  readonly contract: PageContract | undefined;
  readonly review: (row: Row, whole: boolean) => void;
}

/** One entry: its flaws, its JSON as a tree, and its bytes beside it. */
export function Detail({ log, row, contract, review }: DetailProps) {
  const [entry, setEntry] = useState<Entry>();
  const [error, setError] = useState("");
  useEffect(() => {
    let left = false;
    setEntry(undefined);
    setError("");
    if (row.kind !== "fault")
      get<Entry>("/api/entry", { log, n: row.n }).then(
        (one) => left || setEntry(one),
        ({ message }) => left || setError(message),
      );
    return () => {
      left = true;
    };
  }, [log, row.n]);
  const title = row.type === undefined ? undefined : contract?.messages[row.type]?.schema;
  const text = entry && "text" in entry ? entry.text : undefined;
  const value = jsonOf(text);
  const wrong = (row.flaws ?? []).flatMap(({ at = [] }) => at);
  const isStream =
    contract && row.call !== undefined && (contract.channels[row.call] ?? contract.operations[row.call]?.answer.stream);
  return (
    <section class="detail" aria-labelledby="detail-title">
      <h2 id="detail-title">
        {visibleLine(row.type ?? row.kind)}{" "}
        <span class="soft">
          from the {row.from}, connection {row.c}, row {row.n}
        </span>
      </h2>
      <Flaws row={row} contract={contract} title={title} />
      {error && <p class="problem">{error}</p>}
      <p class="buttons">
        <button type="button" disabled={row.kind === "fault"} onClick={() => review(row, false)}>
          Edits in this message
        </button>
        {isStream && (
          <button type="button" onClick={() => review(row, true)}>
            Edits in the whole text
          </button>
        )}
      </p>
      {entry && (
        <div class="sides">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard */}
          <section class="pane" tabIndex={0} aria-label="JSON">
            <Tree value={value === undefined ? withoutText(entry) : value} wrong={wrong} />
          </section>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard */}
          <section class="pane" tabIndex={0} aria-label="Bytes">
            <pre>
              <bdi>{rawOf(entry)}</bdi>
            </pre>
          </section>
        </div>
      )}
    </section>
  );
}

function Flaws({ row, contract, title }: { row: Row; contract: PageContract | undefined; title: string | undefined }) {
  if (row.unknown)
    return <p class="notice">The contract does not know this message. That is allowed: a reader skips it.</p>;
  if (row.rereading && !row.flaws)
    return <p class="notice">This is not the documented form: {visible(row.rereading)}.</p>;
  if (!row.flaws) {
    const sentence = contract && title !== undefined && sentenceAt(contract.schemas, title, "");
    return sentence ? <p class="soft">{sentence}</p> : null;
  }
  return (
    <ul class="flaws">
      {row.flaws.map(({ rule, message, at = [] }) => (
        <li key={message}>
          <strong>{rule}</strong> {visible(message)}
          {contract &&
            title !== undefined &&
            at.map((pointer) => (
              <blockquote key={pointer}>
                {pointer || "the message"}: {sentenceAt(contract.schemas, title, pointer)}
              </blockquote>
            ))}
        </li>
      ))}
    </ul>
  );
}

/** The bytes of an entry as they were sent, without those that a terminal or page would act on. */
function rawOf(entry: Entry): string {
  if (entry.kind === "request" || entry.kind === "response") {
    const line = entry.kind === "request" ? `${entry.method} ${entry.target}` : String(entry.status);
    return visible(`${line}\n${entry.headers.map(([name, value]) => `${name}: ${value}`).join("\n")}`);
  }
  const { kind } = entry;
  const raw =
    kind === "event"
      ? (entry.raw ?? encode({ event: entry.event, id: entry.id, data: entry.text ?? "" }))
      : kind === "close"
        ? `${entry.code} ${entry.reason}`
        : "text" in entry
          ? (entry.text ?? ("base64" in entry ? entry.base64 : undefined) ?? "")
          : kind;
  const cut = raw.length > MAX_RAW ? `\n… and ${raw.length - MAX_RAW} more characters` : "";
  return visible(raw.slice(0, MAX_RAW)) + cut;
}

function withoutText(entry: Entry): object {
  const { t, c, from, kind, ...rest } = entry;
  return rest;
}

function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
