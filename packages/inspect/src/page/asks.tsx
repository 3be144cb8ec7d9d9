import { useEffect, useState } from "preact/hooks";
import type { Answer, AskView, CredentialInfo, Outcome } from "../ask.js";
import type { Row } from "../row.js";
import { get } from "./api.js";
import { CredentialChoice } from "./credentials.js";
import { visible, visibleLine } from "./inert.js";
import { type Draft, sendDraft } from "./send-draft.js";
import type { LogView } from "./store.js";
import { Tree } from "./tree.js";

/** A decision about an ask. It has no outcome while it is on its way. */
export interface Decision {
  readonly row: Row;
  readonly label: string;
  readonly outcome?: Outcome;
}

/** The decisions by the row of their ask. */
export type Decisions = ReadonlyMap<number, Decision>;

interface AsksProps {
  readonly view: LogView;
  readonly decisions: Decisions;
  readonly credentials: readonly CredentialInfo[];
  readonly choose: (row: Row) => void;
  readonly edit: (draft: Draft) => void;
  readonly decide: (decision: Decision) => void;
  readonly dismiss: (n: number) => void;
}

/** The most asks that are shown. */
const MAX_SHOWN = 20;

/** The asks of the server that wait for an answer, with a button for each, and those that were decided here, with the outcome. */
export function Asks({ view, decisions, ...rest }: AsksProps) {
  const waiting = [...view.asks.values()];
  const decided = [...decisions.values()].map(({ row }) => row).filter(({ n }) => !view.asks.has(n));
  const shown = [...decided, ...waiting.slice(0, MAX_SHOWN)].sort((one, other) => one.n - other.n);
  if (shown.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by keyboard
    <section class="asks" aria-labelledby="asks-title" tabIndex={0}>
      <h2 id="asks-title">Waiting for an answer ({waiting.length})</h2>
      <ul>
        {shown.map((row) => (
          <Ask key={row.n} row={row} isWaiting={view.asks.has(row.n)} decision={decisions.get(row.n)} {...rest} />
        ))}
      </ul>
      {waiting.length > MAX_SHOWN && <p class="soft">and {waiting.length - MAX_SHOWN} more</p>}
    </section>
  );
}

interface AskProps extends Omit<AsksProps, "view" | "decisions"> {
  readonly row: Row;
  readonly isWaiting: boolean;
  readonly decision: Decision | undefined;
}

function Ask({ row, isWaiting, decision, credentials, choose, edit, decide, dismiss }: AskProps) {
  const [view, setView] = useState<AskView>();
  const [problem, setProblem] = useState("");
  const [as, setAs] = useState<number>();
  useEffect(() => {
    get<{ readonly ask?: AskView }>("/api/ask", { n: row.n }).then(
      ({ ask }) => {
        setView(ask);
        setAs(ask?.credentials);
      },
      ({ message }) => setProblem(message),
    );
  }, [row.n]);
  const answers = view?.answers ?? [];
  const isSending = decision !== undefined && decision.outcome === undefined;
  const draftOf = ({ operation, message, parameters, body, missing }: Answer): Draft => ({
    name: operation ?? row.call!,
    ...(message !== undefined && { message, connection: row.c }),
    parameters,
    body,
    credentials: as,
    ask: { row, missing },
  });
  const answer = async (one: Answer) => {
    const { label } = one;
    decide({ row, label });
    const { broken, outcome } = await sendDraft(draftOf(one));
    decide({ row, label, outcome: outcome ?? { ok: false, text: `Not sent: ${broken?.message}` } });
  };
  return (
    <li class="ask">
      <button type="button" class="link" onClick={() => choose(row)}>
        {visibleLine(row.type ?? "")}
      </button>{" "}
      <span class="soft">
        of {visibleLine(row.call ?? "")}, connection {row.c}
      </span>
      {view && (
        <div class="question">
          <Tree value={view.message} wrong={[]} />
        </div>
      )}
      {isWaiting && (
        <span class="buttons">
          {answers.map((one) => (
            <button
              key={one.label}
              type="button"
              disabled={isSending}
              onClick={() => (one.missing.length > 0 ? edit(draftOf(one)) : answer(one))}
            >
              {one.label}
              {one.missing.length > 0 && "…"}
            </button>
          ))}
          {view && !answers[0] && <span class="soft">The contract has no operation that answers it.</span>}
          {answers[0] && (
            <button type="button" onClick={() => edit(draftOf(answers[0]!))}>
              Edit the answer
            </button>
          )}
          {answers.some(({ operation }) => operation !== undefined) && (
            <CredentialChoice credentials={credentials} chosen={as} choose={setAs} />
          )}
        </span>
      )}
      {isWaiting && <Missing answers={answers} />}
      {problem && isWaiting && <p class="problem">{visible(problem)}</p>}
      {decision && <Decided decision={decision} dismiss={isWaiting ? undefined : () => dismiss(row.n)} />}
    </li>
  );
}

/** Names the values that a person has to fill in, once for all buttons that lack the same. */
function Missing({ answers }: { readonly answers: readonly Answer[] }) {
  const labels = new Map<string, string[]>();
  for (const { label, missing } of answers)
    if (missing.length > 0) labels.set(missing.join(", "), [...(labels.get(missing.join(", ")) ?? []), label]);
  return (
    <>
      {[...labels].map(([names, all]) => (
        <p key={names} class="missing">
          “{all.join("”, “")}” needs {names}, not found in the conversation: fill it in before you send it.
        </p>
      ))}
    </>
  );
}

function Decided({ decision, dismiss }: { readonly decision: Decision; readonly dismiss: (() => void) | undefined }) {
  const { label, outcome } = decision;
  return (
    <p class="outcome" role="status">
      <span class={outcome === undefined ? "soft" : outcome.ok ? "good" : "problem"}>
        {label} → {outcome === undefined ? "sending…" : visible(outcome.text)}
      </span>{" "}
      {outcome && dismiss && (
        <button type="button" onClick={dismiss}>
          Dismiss
        </button>
      )}
    </p>
  );
}
