import { rawOf } from "../blocks.js";
import { isLeftOut } from "../left-out.js";
import type { Ending } from "../read.js";
import { type Content, type Entry, type Header, isEventStream } from "../recording.js";

type Request = Extract<Entry, { kind: "request" }>;
type Response = Extract<Entry, { kind: "response" }>;

/** The recorded entries of one connection, for exports. */
export interface Exchanged {
  readonly request: Request;
  readonly sent?: Content;
  readonly response?: Response;
  readonly entries: readonly Entry[];
  /** The time of the last entry. */
  readonly until: number;
}

/** Collects the entries of each connection, and reports it when it is over. Only open connections are held. */
export class Exchanges {
  readonly #open = new Map<number, { request: Request; entries: Entry[] }>();
  readonly #report: (exchanged: Exchanged) => void;

  constructor(report: (exchanged: Exchanged) => void) {
    this.#report = report;
  }

  entry(entry: Entry): void {
    if (entry.kind === "request") return void this.#open.set(entry.c, { request: entry, entries: [] });
    const open = this.#open.get(entry.c);
    open?.entries.push(entry);
    // The peer may confirm a close: a connection ends with its second close, or with the recording.
    const closes = open?.entries.filter(({ kind }) => kind === "close").length ?? 0;
    if (entry.kind === "end" || entry.kind === "error" || closes > 1) this.#over(entry.c);
  }

  end(): void {
    for (const c of [...this.#open.keys()]) this.#over(c);
  }

  #over(c: number): void {
    const open = this.#open.get(c);
    if (!open) return;
    this.#open.delete(c);
    const { request, entries } = open;
    const sent = entries.find(({ kind, from }) => kind === "body" && from === "client") as Content | undefined;
    const response = entries.find(({ kind }) => kind === "response") as Response | undefined;
    this.#report({
      request,
      ...(sent && { sent }),
      ...(response && { response }),
      entries,
      until: entries.at(-1)?.t ?? request.t,
    });
  }
}

/** A form in which a recording is exported: its beginning, a text for each connection with what separates two, and its end. */
export interface ExportForm {
  readonly separator: string;
  begin(header: Header): string;
  connection(header: Header, exchanged: Exchanged, origin: string): string;
  end(ending: Ending): string;
}

/** The text of an answer as it was sent. */
export function answerText({ response, entries }: Exchanged): string {
  const stream = response !== undefined && isEventStream(response.headers);
  return entries
    .filter((entry) => entry.from === "server" && !isLeftOut(entry))
    .map((entry) =>
      entry.kind === "event" && stream
        ? rawOf(entry)
        : entry.kind === "body" || entry.kind === "comment"
          ? (entry.text ?? "")
          : "",
    )
    .join("");
}

/** The date and time of an entry. */
export function dateOf({ began }: Header, t: number): string {
  return new Date(Date.parse(began) + t).toISOString();
}
