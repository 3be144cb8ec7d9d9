import { useState } from "preact/hooks";
import type { Row } from "../row.js";
import type { PageContract } from "../state.js";
import { type Answer, answersOf } from "./answers.js";
import { post } from "./api.js";
import { visibleLine } from "./inert.js";
import type { Draft } from "./send.js";
import type { LogView } from "./store.js";

interface AsksProps {
  readonly contract: PageContract;
  readonly view: LogView;
  readonly choose: (row: Row) => void;
  readonly edit: (draft: Draft) => void;
}

/** The asks of the server that wait for an answer, with a button for each. */
export function Asks({ contract, view, choose, edit }: AsksProps) {
  const [problem, setProblem] = useState("");
  const asks = [...view.asks.values()];
  if (asks.length === 0) return null;
  const draftOf = (row: Row, { operation, parameters, body, label }: Answer): Draft =>
    operation === undefined
      ? { name: row.call!, message: label.split(":")[0]!, body, connection: row.c }
      : { name: operation, parameters, body };
  const answer = async (row: Row, one: Answer) => {
    const { name, message, parameters, body, connection } = draftOf(row, one);
    const text = body === undefined ? undefined : JSON.stringify(body);
    try {
      const { broken } =
        message === undefined
          ? await post<{ broken?: { message: string } }>("/api/call", { name, parameters, body: text })
          : await post<{ broken?: { message: string } }>("/api/frame", { connection, channel: name, text });
      setProblem(broken?.message ?? "");
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <section class="asks" aria-labelledby="asks-title">
      <h2 id="asks-title">Waiting for an answer ({asks.length})</h2>
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <ul>
        {asks.slice(0, 20).map((row) => {
          const answers = answersOf(contract, row.ask!, view.call(row.c)?.session ?? row.session, row.call);
          return (
            <li key={row.n}>
              <button type="button" class="link" onClick={() => choose(row)}>
                {visibleLine(row.type ?? "")}
              </button>{" "}
              <span class="soft">
                <bdi>{visibleLine(row.text.slice(0, 160))}</bdi>
              </span>
              <span class="buttons">
                {answers.map((one) => (
                  <button key={one.label} type="button" onClick={() => answer(row, one)}>
                    {one.label}
                  </button>
                ))}
                {!answers[0] && <span class="soft">The contract has no operation that answers it.</span>}
                {answers[0] && (
                  <button type="button" onClick={() => edit(draftOf(row, answers[0]!))}>
                    Edit the answer
                  </button>
                )}
              </span>
            </li>
          );
        })}
      </ul>
      {asks.length > 20 && <p class="soft">and {asks.length - 20} more</p>}
    </section>
  );
}
