import type { Resumable } from "@parlance/wire";
import { mediaType } from "@parlance/wire/internal/http";
import type { Queue } from "@parlance/wire/link";
import { parseResumeFrame } from "@parlance/wire/resume";
import { bytesIn, charsetOf, dataOf } from "../bodies.js";
import { isLeftOut, leftOutAs } from "../left-out.js";
import { type Entry, type HeaderList, headerOf } from "../recording.js";
import type { FramePort } from "./answering.js";
import type { Cursors } from "./cursors.js";
import { nameOf, type RecordedConnection, textOf } from "./loaded.js";
import type { Difference } from "./match.js";
import type { Replaying } from "./replay.js";

/** One open connection. */
export interface Live {
  readonly connection: RecordedConnection;
  readonly abort: AbortController;
  response?: Promise<Response>;
  /** Whether the recorded answer was awaited. */
  answered?: boolean;
  /** There is no answer, or one that the recorded messages cannot follow: they are not compared. */
  isOver?: boolean;
  /** The headers of the recorded answer. */
  headers?: HeaderList;
  /** What the server sends, an item each: an event, a whole body, a frame. */
  readonly incoming: Queue<Came>;
  port?: FramePort;
  /** What the live server announced of the channel. */
  resumable?: Resumable;
  /** What the recorded server announced of it. */
  recorded?: Resumable;
}

export interface Came {
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  readonly text: string;
}

/** Reports a server that cannot be asked what the recording has no answer to, because it is cut: any answer is right, and so is none. */
export async function reach(run: Replaying, one: Live): Promise<void> {
  await run
    .within("an answer", () => one.response!)
    .catch((error: Error & { code?: string }) => {
      if (error.code !== "timeout") run.found("left", `${nameOf(one.connection)} was not answered: ${whyOf(error)}`);
    });
}

/** The message of an error with those of its causes: that of `fetch` says only that it failed. */
function whyOf(error: unknown, depth = 0): string {
  const { message, cause, errors } = error as { message?: string; cause?: unknown; errors?: readonly unknown[] };
  const inner = cause ?? errors?.[0];
  const said = message || String((error as { code?: string }).code ?? error);
  return inner === undefined || depth === 4 ? said : `${said}: ${whyOf(inner, depth + 1)}`;
}

/** Messages of one kind of answer cannot follow another: the server switches to frames, does what was asked, or refuses it. */
function kindOf(status: number): "frames" | "done" | "refused" {
  return status === 101 ? "frames" : status < 400 ? "done" : "refused";
}

/** Compares what the server did with a recorded entry, or does what the client did. */
export async function follow(run: Replaying, cursors: Cursors, one: Live, entry: Entry): Promise<void> {
  const { matcher } = run;
  const name = nameOf(one.connection);
  const next = async (what: string): Promise<Came | undefined> => {
    const step = await run.within(what, () => one.incoming.next()).catch(() => undefined);
    if (step && !step.done) return step.value;
    run.found("left", `${what} on ${name} was recorded and did not come`);
    return undefined;
  };
  switch (entry.kind) {
    case "response": {
      one.answered = true;
      one.headers = entry.headers;
      const response = await run
        .within("it", () => one.response!)
        .catch((error: Error) => void run.found("left", `the answer of ${name}: ${whyOf(error)}`));
      one.isOver = !response || kindOf(entry.status) !== kindOf(response.status);
      if (!response) return;
      cursors.answer(entry.headers, response.headers);
      const differences = headDifferences(run, entry, response);
      if (one.isOver) {
        const step = await run.within("its body", () => one.incoming.next()).catch(() => undefined);
        if (step && !step.done) differences.push({ at: "body", recorded: undefined, came: step.value.text });
      }
      const but = one.isOver ? "; what follows it was not compared" : "";
      if (differences.length > 0) run.found("differs", `the answer of ${name}${but}`, differences);
      return;
    }
    case "body":
    case "event":
    case "frame": {
      const announced = parseResumeFrame(entry.text ?? "");
      if (announced) one.recorded = announced;
      if (announced) return;
      if (entry.from === "client") return send(run, one, entry, name);
      const what = entry.kind === "event" ? `event ${entry.event ?? "message"}` : entry.kind;
      const isBinary = entry.kind === "frame" && entry.base64 !== undefined;
      if (isBinary && !one.port?.binary)
        return void run.found(
          "left",
          `a binary frame on ${name} was not compared: the \`webSocket\` carries text alone`,
        );
      const came = await next(what);
      const recorded = isBinary ? dataOf(bytesIn(entry.base64!)) : textOf(entry, one.headers ?? []);
      // What was left out cannot be compared. A whole body may come as several events.
      if (entry.kind === "body" && recorded === undefined) one.isOver = true;
      if (!came || recorded === undefined) return;
      if (entry.kind === "event") cursors.event(entry.id, came.id);
      run.learn([], "", came.text);
      const differences = matcher.text(recorded, came.text);
      if (entry.kind === "event" && entry.event !== came.event)
        differences.unshift({ at: "event", recorded: entry.event, came: came.event });
      if (differences.length > 0) run.found("differs", `${what} on ${name}`, differences);
      return;
    }
    case "end":
      return over(run, one, name);
    case "close":
      if (entry.from === "client") {
        one.port?.close(entry.code === 1005 || entry.code === 1006 ? 1000 : entry.code, entry.reason);
        return;
      }
      return over(run, one, name);
    case "error":
      cursors.announced(one.recorded, one.resumable);
      // The recorded client lost this connection, whichever side cut it; it may resume next.
      one.abort.abort();
      if (one.port) one.port.cut ? one.port.cut() : one.port.close(1006, "");
  }
}

/** Sends a message of the recorded client. A body went with its request. */
function send(
  run: Replaying,
  { port }: Live,
  entry: Extract<Entry, { kind: "body" | "event" | "frame" }>,
  name: string,
): void {
  if (entry.kind === "body" && entry.base64 !== undefined) return;
  if (entry.text !== undefined) return port?.send(run.matcher.send(entry.text));
  if (entry.base64 !== undefined && port?.binary) return port.binary(bytesIn(entry.base64));
  const why = isLeftOut(entry) ? `: ${leftOutAs(entry)}` : " as text";
  run.found("left", `${entry.kind} of the client on ${name} is not in the recording${why}`);
}

/** What is compared of an answer before its body: the status, where it redirects to, and its media type. Other headers are of the deployment. */
function headDifferences(
  { matcher }: Replaying,
  { status, headers }: Extract<Entry, { kind: "response" }>,
  response: Response,
): Difference[] {
  const differences: Difference[] = [];
  if (response.status !== status) differences.push({ at: "status", recorded: status, came: response.status });
  // A socket is opened by a function that returns no headers.
  if (status === 101) return differences;
  const location = headerOf(headers, "location");
  const at = matcher.text(location, response.headers.get("location") ?? undefined);
  differences.push(...at.map((one) => ({ ...one, at: "location" })));
  const [recorded, came] = [headerOf(headers, "content-type"), response.headers.get("content-type")].map(typeOf);
  if (recorded !== undefined && recorded !== came) differences.push({ at: "content-type", recorded, came });
  return differences;
}

/** A media type with its charset. JSON and event streams are UTF-8 without one. */
function typeOf(header: string | null | undefined): string | undefined {
  const type = mediaType(header);
  if (type === undefined) return undefined;
  const charset = charsetOf(header);
  const isUsual = charset === undefined || (charset === "utf-8" && /json$|^text\/event-stream$/.test(type));
  return isUsual ? type : `${type}; charset=${charset}`;
}

/** Awaits the end of the server's messages, as recorded. */
async function over(run: Replaying, one: Live, name: string): Promise<void> {
  for (;;) {
    const step = await run.within(`the end of ${name}`, () => one.incoming.next()).catch((error) => error as Error);
    if (step instanceof Error) {
      if (!(step.name === "AbortError"))
        run.found("left", `the end of ${name} was recorded and did not come: ${step.message}`);
      return;
    }
    if (step.done) return;
    if (one.port && step.value.event === "close") return;
    run.found("more", `${step.value.text.slice(0, 200)} on ${name}`);
  }
}
