import type { ComponentChildren } from "preact";
import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import type { ReviewView } from "../review.js";
import type { Found, LogInfo, Row } from "../row.js";
import type { PageState } from "../state.js";
import { get, post, readFeed } from "./api.js";
import { Asks, type Decision, type Decisions } from "./asks.js";
import { Calls } from "./calls-list.js";
import { useCredentials } from "./credentials.js";
import { Detail } from "./detail.js";
import { Edits } from "./edits.js";
import { Faults } from "./faults.js";
import { Filters } from "./filters.js";
import { openFile, Recording } from "./recording.js";
import { Send } from "./send.js";
import type { Draft } from "./send-draft.js";
import { LogView } from "./store.js";
import { Timeline } from "./timeline.js";

type Panel = "message" | "send" | "edits";

/** Reads a log's feed into a view, and draws at most once a frame. */
function useLog(log: LogInfo | undefined): LogView {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  const view = useRef(new LogView());
  useEffect(() => {
    const own = new LogView();
    view.current = own;
    draw(undefined);
    if (!log) return;
    const left = new AbortController();
    let due = 0;
    const soon = () => {
      due ||= requestAnimationFrame(() => {
        due = 0;
        draw(undefined);
      });
    };
    readFeed(log.id, left.signal, (lines) => {
      own.take(lines);
      soon();
    }).then(
      () => {
        own.error = "The inspector has ended.";
        soon();
      },
      (error) => {
        if (left.signal.aborted) return;
        own.error = `The inspector is gone: ${(error as Error).message}`;
        soon();
      },
    );
    return () => {
      left.abort();
      cancelAnimationFrame(due);
    };
  }, [log?.id]);
  return view.current;
}

/** Milliseconds between two looks for rows that are still to be searched. */
const SEARCHED_EVERY = 150;

/** While the filter has a text: searches the whole texts of the rows that hold only their beginning, also of those that come later. */
function useSearch(log: LogInfo | undefined, view: LogView, draw: () => void): void {
  const { text } = view.filter;
  useEffect(() => {
    if (!log || text === "") return;
    let left = false;
    const search = async () => {
      while (!left) {
        await new Promise((resolve) => setTimeout(resolve, SEARCHED_EVERY));
        const due = left ? undefined : view.unsearched();
        if (!due) continue;
        view.find(due.text, await get<Found>("/api/search", { log: log.id, ...due }));
        if (!left) draw();
      }
    };
    // Without the inspector, the end of the feed says so.
    search().catch(() => {});
    return () => {
      left = true;
    };
  }, [log?.id, view, text]);
}

export function App({ state: first }: { readonly state: PageState }) {
  const [row, setRow] = useState<Row>();
  const [panel, setPanel] = useState<Panel>("message");
  const [review, setReview] = useState<ReviewView>();
  const [problem, setProblem] = useState("");
  const { logs, log, show, opened } = useLogs(first, () => {
    setRow(undefined);
    setReview(undefined);
  });
  const { view, filter } = useFiltered(log);
  useDrop((file) => void openFile(file, opened).then(setProblem));
  const { contract } = first;
  const names = contract ? [...Object.keys(contract.operations), ...Object.keys(contract.channels)] : [];
  const [draft, setDraft] = useState<Draft>({ name: names[0] ?? "" });
  const choose = (one: Row) => {
    setRow(one);
    setPanel("message");
  };
  const edits = async (one: Row, whole: boolean) => {
    try {
      const body = { log: log!.id, n: one.n, ...(whole && { connection: one.c }) };
      setReview(await post<ReviewView>("/api/edits", body));
      setPanel("edits");
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  const edit = (next: Draft) => {
    setDraft(next);
    setPanel("send");
  };
  const call = view.call(view.filter.connection);
  const canSend = first.target !== undefined && contract;
  const { decisions, decide, dismiss } = useDecisions();
  const isNeeded = Boolean(canSend) && (panel === "send" || view.asks.size > 0);
  const credentials = useCredentials(isNeeded, view.calls.size);
  return (
    <>
      <Header state={first} logs={logs} chosen={log} show={show}>
        <Recording state={first} log={log} connection={view.filter.connection} opened={opened} />
      </Header>
      <Notices view={view} problem={problem} />
      <main>
        {canSend && log?.live && <Asks {...{ view, decisions, credentials, choose, edit, decide, dismiss }} />}
        <div class="columns">
          <section class="overview" aria-label="Calls">
            <Calls
              view={view}
              chosen={view.filter.connection}
              choose={(connection) => filter({ ...view.filter, connection })}
            />
            {call && log?.live && <Faults call={call} />}
          </section>
          <section class="messages" aria-label="Timeline">
            <Filters filter={view.filter} shown={view.shown.length} all={view.rows.length} set={filter} />
            <Timeline view={view} chosen={row} choose={choose} />
          </section>
          <section class="side" aria-label="Inspect and send">
            <nav class="tabs" aria-label="Panel">
              <Tab name="message" panel={panel} set={setPanel} />
              {canSend && <Tab name="send" panel={panel} set={setPanel} />}
              <Tab name="edits" panel={panel} set={setPanel} />
            </nav>
            {panel === "message" && row && log && <Detail log={log.id} row={row} contract={contract} review={edits} />}
            {panel === "message" && !row && <p class="soft">Choose a message.</p>}
            {panel === "send" && canSend && (
              <Send
                {...{ contract, draft, setDraft, credentials }}
                view={log?.live ? view : undefined}
                decided={(asked, label, outcome) => decide({ row: asked, label, outcome })}
              />
            )}
            {panel === "edits" && review && <Edits review={review} />}
            {panel === "edits" && !review && <p class="soft">Choose a message, and in it “Edits in this message”.</p>}
          </section>
        </div>
      </main>
    </>
  );
}

/** The live conversation and recordings, and which of them is shown. */
function useLogs(first: PageState, changed: () => void) {
  const [logs, setLogs] = useState(first.logs);
  // A recording that was named is what its user wants to see.
  const [log, setLog] = useState(first.logs.at(-1));
  const show = (one: LogInfo) => {
    setLog(one);
    changed();
  };
  const opened = (one: LogInfo) => {
    setLogs((all) => [...all, one]);
    show(one);
  };
  return { logs, log, show, opened };
}

/** The rows of a log that its filter shows. */
function useFiltered(log: LogInfo | undefined) {
  const view = useLog(log);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useSearch(log, view, () => redraw(undefined));
  const filter = (next: LogView["filter"]) => {
    view.set(next);
    redraw(undefined);
  };
  return { view, filter };
}

/** The outcomes of answered asks, until they are dismissed. */
function useDecisions() {
  const [decisions, setDecisions] = useState<Decisions>(new Map());
  const decide = (one: Decision) => setDecisions((all) => new Map(all).set(one.row.n, one));
  const dismiss = (n: number) => setDecisions((all) => new Map([...all].filter(([at]) => at !== n)));
  return { decisions, decide, dismiss };
}

interface HeaderProps {
  readonly state: PageState;
  readonly logs: readonly LogInfo[];
  readonly chosen: LogInfo | undefined;
  readonly show: (log: LogInfo) => void;
  readonly children: ComponentChildren;
}

function Header({ state: { contract, target, proxy }, logs, chosen, show, children }: HeaderProps) {
  return (
    <header>
      <h1>
        {contract?.name ?? "Inspector"}
        {target !== undefined && (
          <span class="soft">
            {" "}
            {target}: connect your client to <code>{proxy}</code>
          </span>
        )}
      </h1>
      <nav aria-label="Conversations">
        {logs.map((one) => (
          <button key={one.id} type="button" aria-pressed={one.id === chosen?.id} onClick={() => show(one)}>
            {one.live ? "Live" : one.name}
          </button>
        ))}
      </nav>
      {children}
    </header>
  );
}

function Notices({ view, problem }: { readonly view: LogView; readonly problem: string }) {
  return (
    <div role="status" class="notices">
      {problem && <p class="problem">{problem}</p>}
      {view.error && <p class="problem">{view.error}</p>}
      {view.dropped > 0 && <p class="notice">The {view.dropped} oldest rows are no longer held.</p>}
      {view.ending !== undefined && view.ending !== "complete" && <p class="notice">The recording is {view.ending}.</p>}
    </div>
  );
}

function Tab({
  name,
  panel,
  set,
}: {
  readonly name: Panel;
  readonly panel: Panel;
  readonly set: (panel: Panel) => void;
}) {
  return (
    <button type="button" aria-pressed={panel === name} onClick={() => set(name)}>
      {name[0]!.toUpperCase() + name.slice(1)}
    </button>
  );
}

/** Opens a recording that is dropped anywhere on the page. */
function useDrop(open: (file: File) => void): void {
  useEffect(() => {
    const over = (event: DragEvent) => event.preventDefault();
    const dropped = (event: DragEvent) => {
      event.preventDefault();
      const [file] = event.dataTransfer?.files ?? [];
      if (file) open(file);
    };
    addEventListener("dragover", over);
    addEventListener("drop", dropped);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", dropped);
    };
  }, []);
}
