import type { Contract } from "@parlance/contract";
import { Scope, within } from "@parlance/wire/scope";
import type { HeaderList } from "../recording.js";
import { Redactor } from "../redact.js";
import { type Difference, formatDifferences, Matcher, type MatchOptions } from "./match.js";
import type { Tape } from "./tape.js";

export interface ReplayOptions extends MatchOptions {
  /** Its session and the keys of its exchanges are ids. */
  readonly contract?: Pick<Contract, "session" | "exchanges" | "auth" | "secrets"> | undefined;
  /** 0 waits for nothing, 1 keeps the recorded pauses, 2 halves them. @default 0 */
  readonly speed?: number | undefined;
  /** Milliseconds to wait for what the other side does next. @default 10,000 */
  readonly wait?: number | undefined;
}

/** Something that is not as recorded. */
export interface Problem {
  /** `miss`: nothing recorded matches. `differs`: it matches, but not in all. `left`: it was recorded and did not come. `more`: it came and was not recorded. */
  readonly kind: "miss" | "differs" | "left" | "more";
  readonly message: string;
  readonly differences?: readonly Difference[];
}

export function formatProblem({ kind, message, differences = [] }: Problem): string {
  return [`${kind}: ${message}`, ...formatDifferences(differences).map((line) => `    ${line}`)].join("\n");
}

/** What both sides of a replay share: what is compared, what is wrong, and how long to wait. */
export class Replaying {
  readonly scope = Scope.open(() => {});
  readonly matcher: Matcher;
  readonly problems: Problem[] = [];
  readonly wait: number;
  readonly #tape: Tape;
  readonly #speed: number;
  readonly #redactor: Redactor;

  constructor(tape: Tape, { contract, ids = [], ignore, values, speed = 0, wait = 10_000 }: ReplayOptions) {
    const keys = (contract?.exchanges ?? []).flatMap(({ key, answers }) => [key, ...answers.map((one) => one.key)]);
    const own = [...ids, contract?.session, ...keys].filter((name) => name !== undefined);
    this.matcher = new Matcher({ ids: own, ignore, values });
    this.wait = wait;
    this.#tape = tape;
    this.#speed = speed;
    this.#redactor = new Redactor({ contract });
    // What stands for a placeholder is a secret.
    for (const [recorded, now] of Object.entries(values ?? {}))
      if (recorded.startsWith("__redacted_")) this.learn([["Authorization", now]]);
  }

  /** Notes the secrets of a live request: no problem shows them. */
  learn(headers: HeaderList, target = "", body = ""): void {
    this.#redactor.headers(headers);
    this.#redactor.target(target);
    this.#redactor.text(body);
  }

  /** Notes a problem, without the secrets that were seen. */
  found(kind: Problem["kind"], message: string, differences?: readonly Difference[]): Problem {
    const clean = differences?.map(({ at, recorded, came }) => {
      const name = at.split("/").at(-1) ?? "";
      return { at, recorded: this.#clean(name, recorded), came: this.#clean(name, came) };
    });
    const problem = { kind, message: this.#redactor.scrub(message), ...(clean && { differences: clean }) };
    this.problems.push(problem);
    return problem;
  }

  #clean(name: string, value: unknown): unknown {
    if (value === undefined) return undefined;
    return (JSON.parse(this.#redactor.text(JSON.stringify({ [name]: value }))) as Record<string, unknown>)[name];
  }

  /** Waits for the other side, within the limit. */
  within<T>(what: string, promise: () => PromiseLike<T>): Promise<T> {
    return within(this.scope, this.wait, what, promise);
  }

  /** The pause before an entry. */
  async pause(at: number): Promise<void> {
    if (this.#speed <= 0 || at === 0) return;
    const { entries } = this.#tape;
    const milliseconds = (entries[at]!.t - entries[at - 1]!.t) / this.#speed;
    if (milliseconds < 1) return;
    await new Promise<void>((resolve) => {
      this.scope.timeout(milliseconds, resolve);
      this.scope.onAbort(this.scope.signal, resolve);
    });
  }
}
