import { useEffect, useId, useState } from "preact/hooks";
import type { CredentialInfo, Outcome } from "../ask.js";
import type { Row } from "../row.js";
import { blank, initial } from "../schema.js";
import type { PageContract } from "../state.js";
import { corrupted, places, without } from "./corrupt.js";
import { CredentialChoice } from "./credentials.js";
import { Field } from "./form.js";
import { visible, visibleLine } from "./inert.js";
import { Parameter } from "./parameter.js";
import { type Draft, sendDraft } from "./send-draft.js";
import type { LogView } from "./store.js";

interface SendProps {
  readonly contract: PageContract;
  /** The live conversation; undefined while a recording is shown, whose connections are not open. */
  readonly view: LogView | undefined;
  readonly draft: Draft;
  readonly setDraft: (draft: Draft) => void;
  readonly credentials: readonly CredentialInfo[];
  /** Reports the outcome of the answer to an ask. */
  readonly decided: (row: Row, label: string, outcome: Outcome) => void;
}

/** A call or a channel's message: a form from its schema, and its JSON beside it. */
export function Send({ contract, view, draft, setDraft, credentials, decided }: SendProps) {
  const { name, message } = draft;
  const [parameters, setParameters] = useState<Readonly<Record<string, string>>>({});
  const [text, setText] = useState("");
  const [times, setTimes] = useState(1);
  const [answer, setAnswer] = useState<Outcome>();
  const [as, setAs] = useState<number>();
  const [broken, setBroken] = useState("");
  const id = useId();
  const operation = contract.operations[name];
  const channel = contract.channels[name];
  const title = message === undefined ? operation?.body : contract.messages[message]?.schema;
  const schema = title === undefined ? undefined : contract.schemas[title];

  useEffect(() => {
    setParameters(draft.parameters ?? {});
    const body = draft.body ?? (schema ? begin(contract, draft, schema) : undefined);
    setText(body === undefined ? "" : JSON.stringify(body, null, 2));
    setAnswer(undefined);
    setBroken("");
    setAs(draft.credentials);
  }, [draft]);

  const [isJson, value] = parsed(text);
  const change = (next: unknown) => {
    setBroken("");
    setText(JSON.stringify(next, null, 2));
  };
  const send = async (force: boolean) => {
    setAnswer(undefined);
    const sent = await sendDraft({ ...draft, parameters, credentials: as }, { text, times, force });
    setBroken(sent.broken?.message ?? "");
    setAnswer(sent.outcome);
    // The values may be others than those of the button that opened the form.
    if (sent.outcome && draft.ask) decided(draft.ask.row, `${message ?? name}, as edited`, sent.outcome);
  };
  return (
    <section class="send" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>Send</h2>
      <Chooser contract={contract} draft={draft} setDraft={setDraft} />
      <p class="soft">{contract.summaries[name]}</p>
      {draft.ask && <Answering ask={draft.ask} />}
      {message !== undefined && (
        <ConnectionChoice
          {...{ view, draft }}
          choose={(chosen) => setDraft(onConnection({ ...draft, body: isJson ? value : undefined }, chosen))}
        />
      )}
      {message === undefined && <Parameters {...{ contract, name }} values={parameters} change={setParameters} />}
      {schema && !isAnswer(contract, draft) && <Examples schema={schema.examples ?? []} choose={change} />}
      {(schema || operation?.binary) && (
        <Body {...{ contract, draft, text, setText, change }} title={schema && title} />
      )}
      {isJson && places(value).length > 0 && <Corrupt value={value} change={change} />}
      <p class="buttons">
        <Times value={times} change={setTimes} />
        <button type="button" class="primary" onClick={() => send(false)}>
          {channel && message === undefined ? "Open" : "Send"}
        </button>
        {broken && (
          <button type="button" class="danger" onClick={() => send(true)}>
            Send although it is wrong
          </button>
        )}
        {message === undefined && <CredentialChoice credentials={credentials} chosen={as} choose={setAs} />}
        <output class={answer?.ok === false ? "problem" : "good"}>{answer && visible(answer.text)}</output>
      </p>
      {broken && (
        <p class="problem" role="alert">
          {broken}
        </p>
      )}
    </section>
  );
}

interface ConnectionChoiceProps extends Pick<SendProps, "view" | "draft"> {
  readonly choose: (connection: string) => void;
}

function ConnectionChoice({ view, draft: { name, connection }, choose }: ConnectionChoiceProps) {
  const id = useId();
  const open = [...(view?.calls.values() ?? [])].filter(
    (call) => call.socket && call.name === name && call.state === "open",
  );
  return (
    <p class="scalar">
      <label for={id}>On the connection</label>
      <select id={id} value={String(connection ?? "")} onChange={(event) => choose(event.currentTarget.value)}>
        <option value="">{open.length === 0 ? "none is open: open the channel first" : "choose"}</option>
        {open.map(({ c }) => (
          <option key={c} value={String(c)}>
            {c}
          </option>
        ))}
      </select>
    </p>
  );
}

/** The draft for a chosen connection, or for none. */
function onConnection({ connection: _, ...draft }: Draft, chosen: string): Draft {
  return chosen === "" ? draft : { ...draft, connection: Number(chosen) };
}

function Times({ value, change }: { readonly value: number; readonly change: (times: number) => void }) {
  const id = useId();
  return (
    <>
      <label for={id}>Times</label>
      <input
        id={id}
        class="times"
        type="number"
        min={1}
        max={1000}
        value={value}
        onInput={(event) => change(Math.max(1, event.currentTarget.valueAsNumber || 1))}
      />
    </>
  );
}

interface ParametersProps {
  readonly contract: PageContract;
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
  readonly change: (values: Readonly<Record<string, string>>) => void;
}

function Parameters({ contract, name, values, change }: ParametersProps) {
  const { parameters = {} } = contract.operations[name] ?? contract.channels[name] ?? {};
  return Object.entries(parameters).map(([key, parameter]) => (
    <Parameter
      key={key}
      name={key}
      kind={`${parameter.in}, ${parameter.type}${parameter.required || parameter.in === "path" ? "" : ", optional"}`}
      note={contract.parameters[name]?.[key] ?? {}}
      value={values[key] ?? ""}
      change={(next) => change({ ...values, [key]: next })}
    />
  ));
}

/** The ask that the form answers, and the values that it still needs. */
function Answering({ ask: { row, missing } }: { readonly ask: NonNullable<Draft["ask"]> }) {
  return (
    <p class={missing.length > 0 ? "missing" : "soft"}>
      Answers {visibleLine(row.type ?? "")} of connection {row.c}.
      {missing.length > 0 && ` Not found in the conversation: ${missing.join(", ")}. Fill it in.`}
    </p>
  );
}

interface BodyProps extends Pick<SendProps, "contract" | "draft"> {
  /** The name of its schema; undefined where any bytes may be sent. */
  readonly title: string | undefined;
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly change: (value: unknown) => void;
}

/** The form, and the raw text beside it. */
function Body({ contract, draft, title, text, setText, change }: BodyProps) {
  const id = useId();
  const { schemas } = contract;
  const [isJson, value] = parsed(text);
  const begin = isAnswer(contract, draft) ? blank : initial;
  const node = title === undefined ? undefined : schemas[title];
  return (
    <div class="sides">
      <div class="pane">
        {node && isJson && <Field {...{ schemas, node, begin, value, change }} base={node} name={title!} />}
        {!isJson && <p class="soft">The text beside is no JSON: it is sent as it is.</p>}
      </div>
      <div class="pane">
        <label for={id}>Raw text</label>
        <textarea
          id={id}
          class="raw"
          rows={Math.min(40, Math.max(8, text.split("\n").length + 1))}
          dir="auto"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
    </div>
  );
}

/** Whether it answers asks: the values of an example would decide about something else. */
function isAnswer({ exchanges = [] }: PageContract, { name, message }: Draft): boolean {
  const answers = exchanges.flatMap((one) => one.answers);
  return answers.some((one) => (message === undefined ? one.operation === name : one.message === message));
}

function begin(contract: PageContract, draft: Draft, schema: PageContract["schemas"][string]): unknown {
  const { schemas, tag, operations } = contract;
  const { name, message } = draft;
  const value = (isAnswer(contract, draft) ? blank : initial)(schemas, schema, schema);
  if (typeof value !== "object" || value === null) return value;
  if (message === undefined) return { ...value, ...operations[name]?.when };
  return tag.in === "property" ? { ...value, [tag.property]: message } : value;
}

function parsed(text: string): readonly [isJson: boolean, value: unknown] {
  try {
    return [true, JSON.parse(text)];
  } catch {
    return [false, undefined];
  }
}

function Chooser({ contract, draft, setDraft }: Pick<SendProps, "contract" | "draft" | "setDraft">) {
  const id = useId();
  const chosen = draft.message === undefined ? draft.name : `${draft.name}/${draft.message}`;
  return (
    <p class="scalar">
      <label for={id}>Call or message</label>
      <select
        id={id}
        value={chosen}
        onChange={(event) => {
          const [name = "", message] = event.currentTarget.value.split("/");
          setDraft(message === undefined ? { name } : { name, message });
        }}
      >
        <optgroup label="Operations">
          {Object.keys(contract.operations).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </optgroup>
        {Object.entries(contract.channels).map(([name, { client }]) => (
          <optgroup key={name} label={`Channel ${name}`}>
            <option value={name}>open {name}</option>
            {client.map((message) => (
              <option key={message} value={`${name}/${message}`}>
                {message}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </p>
  );
}

function Examples({
  schema,
  choose,
}: {
  readonly schema: readonly unknown[];
  readonly choose: (value: unknown) => void;
}) {
  if (schema.length < 2) return null;
  return (
    <p class="buttons">
      <span>Examples</span>
      {schema.slice(0, 12).map((example, at) => (
        <button
          key={JSON.stringify(example)}
          type="button"
          title={JSON.stringify(example)}
          onClick={() => choose(example)}
        >
          {at + 1}
        </button>
      ))}
    </p>
  );
}

function Corrupt({ value, change }: { readonly value: unknown; readonly change: (value: unknown) => void }) {
  const id = useId();
  const all = places(value);
  const [chosen, setChosen] = useState(all[0]!);
  const at = all.includes(chosen) ? chosen : all[0]!;
  return (
    <p class="buttons">
      <label for={id}>Corrupt</label>
      <select id={id} value={at} onChange={(event) => setChosen(event.currentTarget.value)}>
        {all.map((place) => (
          <option key={place}>{place}</option>
        ))}
      </select>
      <button type="button" onClick={() => change(corrupted(value, at))}>
        Another type
      </button>
      <button type="button" onClick={() => change(without(value, at))}>
        Leave it out
      </button>
    </p>
  );
}
