import type { Connection, Recorder } from "../recorder.js";

const METHODS = ["request", "response", "body", "end", "frame", "beat", "close", "error"] as const;

/** The methods of a recorded connection that a proxy calls. */
export type Seen = Pick<Connection, "id" | (typeof METHODS)[number]>;

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
    const later = METHODS.map((name) => [
      name,
      (...args: never[]) => {
        this.#calls.push(() => Reflect.apply(seen[name], seen, args));
        this.#due ??= setImmediate(() => this.flush());
      },
    ]);
    return { id: seen.id, ...Object.fromEntries(later) } as Seen;
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
