import { useRef, useState } from "preact/hooks";
import type { LogInfo } from "../row.js";
import type { PageState } from "../state.js";
import { download, post, upload } from "./api.js";

interface RecordingProps {
  readonly state: PageState;
  readonly log: LogInfo | undefined;
  /** The chosen connection. */
  readonly connection: number | undefined;
  readonly opened: (log: LogInfo) => void;
}

/** Uploads a recording and shows it. */
export async function openFile(file: File, opened: (log: LogInfo) => void): Promise<string> {
  try {
    opened(await upload<LogInfo>("/api/open", file.name, file));
    return "";
  } catch (error) {
    return `${file.name}: ${(error as Error).message}`;
  }
}

/** What is done with a whole log: open another, export, replay, or take a case of it. */
export function Recording({ state, log, connection, opened }: RecordingProps) {
  const [note, setNote] = useState("");
  const [serving, setServing] = useState<{ readonly id: string; readonly url: string }>();
  const input = useRef<HTMLInputElement>(null);
  const tried = async (act: () => Promise<string>) => {
    setNote("…");
    setNote(await act().catch((error) => (error as Error).message));
  };
  const problems = (found: readonly string[]) => (found.length === 0 ? "Everything as recorded." : found.join("\n"));
  const asClient = () =>
    tried(async () =>
      problems((await post<{ problems: string[] }>("/api/replay", { log: log!.id, as: "client" })).problems),
    );
  const asServer = () =>
    tried(async () => {
      const begun = await post<{ id: string; url: string }>("/api/replay", { log: log!.id, as: "server" });
      setServing(begun);
      return `The recorded server answers at ${begun.url}`;
    });
  const stop = () =>
    tried(async () => {
      setServing(undefined);
      return problems((await post<{ problems: string[] }>("/api/replay/stop", { id: serving!.id })).problems);
    });
  const save = (as: string) =>
    tried(async () => {
      await download("/api/export", { log: log!.id, as }, `conversation.${as}`);
      return "";
    });
  return (
    <div class="recording">
      <span class="buttons">
        <button type="button" onClick={() => input.current!.click()}>
          Open a recording
        </button>
        <input
          ref={input}
          type="file"
          hidden
          aria-label="A recording"
          onChange={(event) => {
            const [file] = event.currentTarget.files ?? [];
            if (file) tried(() => openFile(file, opened));
            event.currentTarget.value = "";
          }}
        />
        {log && (
          <>
            {["jsonl", "har", "md"].map((as) => (
              <button key={as} type="button" onClick={() => save(as)}>
                Export {as}
              </button>
            ))}
            {state.target !== undefined && !log.live && (
              <button type="button" onClick={asClient}>
                Replay as the client
              </button>
            )}
            {serving ? (
              <button type="button" onClick={stop}>
                Stop the replay
              </button>
            ) : (
              <button type="button" onClick={asServer}>
                Replay as the server
              </button>
            )}
          </>
        )}
      </span>
      {log && connection !== undefined && state.cases !== undefined && <Case log={log.id} connection={connection} />}
      {note && (
        <pre class="note" role="status">
          {note}
        </pre>
      )}
    </div>
  );
}

/** Writes a connection as a transcript, which conformance plays as a case. */
function Case({ log, connection }: { readonly log: string; readonly connection: number }) {
  const [name, setName] = useState(`case-${connection}`);
  const [note, setNote] = useState("");
  const make = async () => {
    try {
      const { file } = await post<{ file: string }>("/api/case", { log, connection, name });
      setNote(`Written: ${file}`);
    } catch (error) {
      setNote((error as Error).message);
    }
  };
  return (
    <span class="buttons">
      <label>
        Case name <input value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <button type="button" onClick={make}>
        Make this a conformance case
      </button>
      <output>{note}</output>
    </span>
  );
}
