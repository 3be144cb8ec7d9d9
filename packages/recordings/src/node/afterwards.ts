import type { Connection, Recorder } from "../recorder.js";

/** What a proxy tells of a connection. */
export type Seen = Pick<
  Connection,
  "id" | "request" | "response" | "body" | "end" | "frame" | "beat" | "close" | "error"
>;

/** Records what a proxy sees once it has passed on all that came in this turn of the event loop, in its order: nothing waits for the recording. */
export class Afterwards {
  readonly #recorder: Recorder;
  #calls: (() => void)[] = [];
  #due: NodeJS.Immediate | undefined;

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  connection(): Seen {
    const seen = this.#recorder.connection();
    const later =
      <A extends unknown[]>(call: (...args: A) => void) =>
      (...args: A) => {
        this.#calls.push(() => call.apply(seen, args));
        this.#due ??= setImmediate(() => this.flush());
      };
    const { id, request, response, body, end, frame, beat, close, error } = seen;
    return {
      id,
      request: later(request),
      response: later(response),
      body: later(body),
      end: later(end),
      frame: later(frame),
      beat: later(beat),
      close: later(close),
      error: later(error),
    };
  }

  /** Records what is left. */
  flush(): void {
    clearImmediate(this.#due);
    this.#due = undefined;
    const calls = this.#calls;
    this.#calls = [];
    for (const call of calls) call();
  }
}
