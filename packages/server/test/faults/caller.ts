import { type App, Disconnected } from "@parlance/server";
import { BEAT, newKey, type Port, RESUME } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import { isStream } from "./cases.js";
import { type Fixture, TOKEN } from "./fixture.js";
import { atMost, pass, until } from "./time.js";

/** Longer than all limits of one answer together. */
export const ANSWER = 150;
/** Longer than it takes to see that a reader gets nothing more. */
const READ = 80;

/** What a caller has seen. */
export interface Outcome {
  /** The status of the first answer; 101 for a socket. */
  begin: number | "hung";
  /** What it was sent, in order, each once. */
  readonly texts: string[];
  /** How answers and connections ended, one after the other: statuses, close codes, `ended`, `cut`, `failed`. */
  readonly ends: (number | string)[];
}

/** A caller that speaks HTTP and frames, and nothing of the client's. */
export interface Caller {
  readonly outcome: Outcome;
  /** Holds the conversation: begins, is cut, goes on elsewhere, cancels. */
  talk(): Promise<void>;
  /** Begins another conversation, gets its first message, and leaves. False where it did not get it. */
  greet(app: App): Promise<boolean>;
  /** Leaves everything, as a cut does. */
  detach(): void;
}

const gone = () => new Disconnected("the caller has gone", { code: "closed", retryable: false });

interface Reading {
  text: string;
  over?: "ended" | "cut" | "failed";
  detach(): void;
}

export function caller(fixture: Fixture): Caller {
  const { one, injection, apps } = fixture;
  const [a, b] = apps;
  const outcome: Outcome = { begin: "hung", texts: [], ends: [] };
  const detaching = new Set<() => void>();
  /** `hooks.refuse` needs a refusal. */
  const credentials = () => (one.port === "hooks.refuse" && injection.armed ? {} : TOKEN);
  const path = { operation: "approve", "SSE on POST": "", "SSE on GET": "events", channel: "" }[one.carrier];

  function requestOf(
    target: string,
    init: { method?: string; body?: object; headers?: Record<string, string> },
  ): Request {
    const { method = "GET", body, headers } = init;
    return new Request(`http://localhost${target}`, {
      method,
      headers: { ...credentials(), ...(body && { "Content-Type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  }

  function open(app: App): Scope {
    const call = app.open();
    const detach = () => call.close(gone());
    detaching.add(detach);
    call.add(() => detaching.delete(detach));
    return call;
  }

  /** Asks as an adapter does, and reads what is streamed. */
  async function ask(
    app: App,
    request: Request,
  ): Promise<{ status: number | "hung"; reading?: Reading; text?: string; epoch?: string }> {
    const call = open(app);
    const answer = await atMost(ANSWER, app.answer(request, call));
    if (answer === "hung") return { status: "hung" };
    const { status, body, headers } = answer;
    const epoch = (headers[RESUME] ?? "").split(";")[0]!;
    if (typeof body !== "string") return { status, reading: read(body, call), epoch };
    call.close();
    return { status, text: body, epoch };
  }

  function read(body: { run(sink: Sink): Promise<void> }, call: Scope): Reading {
    const reading: Reading = { text: "", detach: () => call.close(gone()) };
    const finish = (how: Reading["over"]): void => {
      reading.over ??= how;
    };
    const sink: Sink = {
      write: (text) =>
        injection.call("sink.write", () => {
          // A reader that is cut takes nothing.
          if (one.port === "sink.cut" && injection.armed) return new Promise<void>(() => {});
          reading.text += text;
          return undefined;
        }),
      end: () => injection.call("sink.end", () => finish("ended")),
      cut: () => injection.call("sink.cut", () => finish("cut")),
    };
    body
      .run(sink)
      .catch(() => finish("failed"))
      .finally(() => call.close());
    return reading;
  }

  /** Reads until there are so many texts, or the reading ends. */
  async function take(reading: Reading, count: number): Promise<void> {
    const before = outcome.texts.length;
    const see = (): string[] => {
      const texts = [...reading.text.matchAll(/^data: (.*)$/gm)].map(([, data]) => textOf(JSON.parse(data!)));
      outcome.texts.splice(before, outcome.texts.length, ...texts);
      return outcome.texts;
    };
    await until(() => see().length >= count || reading.over !== undefined, READ);
    // What is written last comes with the end.
    await pass(2);
    see();
    if (reading.over) outcome.ends.push(reading.over);
  }

  const isPost = one.carrier === "SSE on POST";
  const streamPath = isPost ? "/api/send" : `/api/sessions/s/${path}`;
  const begin = (headers: Record<string, string>, content = "long"): Request =>
    requestOf(streamPath, isPost ? { method: "POST", body: { content }, headers } : { headers });

  async function talkStream(): Promise<void> {
    const key: Record<string, string> = one.mode === "base" ? {} : { [RESUME]: newKey() };
    const { status, reading } = await ask(a, begin(key));
    outcome.begin = status;
    if (!reading) return;
    await take(reading, one.mode === "base" ? 2 : 1);
    let last = /^id: (.*)$/m.exec(reading.text)?.[1];
    reading.detach();
    if (one.mode === "base") return;
    for (let i = 0; i < 2 && outcome.texts.length < 2; i++) {
      // A client that has no message asks for the stream by its key alone.
      const joined = await ask(
        b,
        requestOf(streamPath, { headers: { ...key, ...(last && { "Last-Event-ID": last }) } }),
      );
      if (!joined.reading) {
        outcome.ends.push(joined.status);
        continue;
      }
      await take(joined.reading, 2);
      last = [...joined.reading.text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? last;
      joined.reading.detach();
    }
    const cancel = await ask(b, requestOf(streamPath, { method: "DELETE", headers: key }));
    outcome.ends.push(`cancel ${cancel.status}`);
  }

  async function talkOperation(): Promise<void> {
    const input = { method: "POST", body: { tool_call_id: "t1" } };
    outcome.begin = (await ask(b, requestOf("/api/sessions/s/approve", input))).status;
  }

  /** A WebSocket, as an adapter hands it over. */
  async function socket(app: App, protocols: readonly string[]) {
    const call = open(app);
    const accepted = await atMost(ANSWER, app.accept(requestOf("/ws", {}), protocols, call));
    if (accepted === "hung") return { status: "hung" as const };
    if ("refused" in accepted) return { status: accepted.refused.status };
    const [near, far] = pair();
    const frames: string[] = [];
    const seen: { closed?: number } = {};
    near.listen({
      // A sign of life is no message.
      frame: (text) => void (text === BEAT || frames.push(text)),
      close(code) {
        seen.closed ??= code;
        detaching.delete(cut);
      },
    });
    const cut = () => near.close(1006, "");
    detaching.add(cut);
    const { call: inject } = injection;
    const port: Port = {
      send: (frame) => inject("socket.send", () => far.send(frame)),
      buffered: () => inject("socket.buffered", () => 0) as number,
      close: (code, reason) => inject("socket.close", () => far.close(code, reason)),
      cut: () => far.close(1006, ""),
      listen: (on) => inject("socket.listen", () => far.listen(on)),
    };
    try {
      accepted.run(port);
    } catch {
      // As the adapter: the socket is destroyed.
      cut();
      call.close(gone());
    }
    return { status: 101, near, frames, seen };
  }

  /** Waits for so many frames, and notes what they say. */
  async function hear(frames: readonly string[], seen: { closed?: number }, count: number): Promise<void> {
    await until(() => frames.length >= count || seen.closed !== undefined, READ);
    for (const frame of frames) outcome.texts.push(textOf(JSON.parse(frame)));
    if (seen.closed !== undefined) outcome.ends.push(seen.closed);
  }

  async function talkChannel(): Promise<void> {
    const key = newKey();
    let cursor: string | undefined;
    for (const [i, filename] of (one.mode === "base" ? ["1"] : ["1", "2"]).entries()) {
      let protocols: string[] = [];
      if (one.mode !== "base") {
        const headers = { [RESUME]: key, ...(cursor !== undefined && { "Last-Event-ID": cursor }) };
        const { status, text, epoch } = await ask(i === 0 ? a : b, requestOf("/ws", { headers }));
        if (i === 0) outcome.begin = status;
        if (status !== 200) return void outcome.ends.push(status);
        protocols = [`parlance.${JSON.parse(text!).ticket}`];
        cursor = `${epoch}.${outcome.texts.length + 2}`;
      }
      const { status, near, frames, seen } = await socket(one.mode === "cluster" && i === 0 ? b : a, protocols);
      if (i === 0 && status !== 101) outcome.begin = status;
      if (!near) return void outcome.ends.push(status);
      if (i === 0) outcome.begin = 101;
      if (one.port === "hooks.unknown") near.send('{"action":"something else"}');
      near.send(JSON.stringify({ action: "read_file", filename }));
      await hear(frames, seen, i === 0 ? 2 : 1);
      const last = i === 1 || one.mode === "base";
      near.close(last ? 1000 : 1006, "");
    }
  }

  return {
    outcome,
    talk: () => (isStream(one.carrier) ? talkStream() : one.carrier === "channel" ? talkChannel() : talkOperation()),
    async greet(app) {
      if (one.carrier === "channel") {
        const { near, frames } = await socket(app, []);
        const heard = await until(() => frames?.[0] !== undefined, READ);
        near?.close(1000, "");
        return heard;
      }
      const headers: Record<string, string> = one.mode === "base" ? {} : { [RESUME]: newKey() };
      if (isStream(one.carrier)) {
        const { reading } = await ask(app, begin(headers, "short"));
        const heard = await until(() => reading?.text.includes("data: ") === true, READ);
        reading?.detach();
        return heard;
      }
      const approve = { method: "POST", body: { tool_call_id: crypto.randomUUID() } };
      return (await ask(app, requestOf("/api/sessions/s/approve", approve))).status === 200;
    },
    detach() {
      for (const detach of [...detaching]) detach();
      detaching.clear();
    },
  };
}

interface Sink {
  write(text: string): Promise<void> | undefined;
  end(): void;
  cut(): void;
}

/** What a message says: its text, or its name where it is a fault. */
function textOf({ error, type, action, text, content }: Record<string, unknown>): string {
  return String(error !== undefined || type === "error" ? "fault" : (action ?? text ?? content));
}
