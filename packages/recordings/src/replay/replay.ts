import type { Contract } from "@parlance/wire";
import { visible } from "@parlance/wire/internal/escape";
import { keyPath } from "@parlance/wire/internal/pointer";
import { Scope, within } from "@parlance/wire/scope";
import type { HeaderList } from "../recording.js";
import { PLACEHOLDER } from "../redaction/known.js";
import { MIN_SECRET } from "../redaction/names.js";
import { Redactor } from "../redaction/redactor.js";
import type { Step } from "./loaded.js";
import { type Difference, formatDifferences, Matcher, type MatchOptions } from "./match.js";

export interface ReplayOptions extends MatchOptions {
  /** Its session and the keys of its exchanges are ids. */
  readonly contract?: Pick<Contract, "session" | "exchanges" | "auth" | "secrets"> | undefined;
  /** 0 waits for nothing, 1 keeps the recorded pauses, 2 halves them. @default 0 */
  readonly speed?: number | undefined;
  /** Milliseconds to wait for the other side's next action. @default 10,000 */
  readonly wait?: number | undefined;
}

/** A difference from the recording. */
export interface Problem {
  /** `miss`: nothing recorded matches. `differs`: it matches in part. `left`: recorded, but did not come. `more`: came, but was not recorded. */
  readonly kind: "miss" | "differs" | "left" | "more";
  readonly message: string;
  readonly differences?: readonly Difference[];
}

/** A line for the problem, and one for each difference. What the peer or the recording controls is made visible. */
export function formatProblem({ kind, message, differences = [] }: Problem): string {
  return [`${kind}: ${message}`, ...formatDifferences(differences).map((line) => `    ${line}`)]
    .map(visible)
    .join("\n");
}

/** The shared state of both sides of a replay: comparison, problems and time limits. */
export class Replaying {
  readonly scope = Scope.open(() => {});
  readonly matcher: Matcher;
  readonly problems: Problem[] = [];
  readonly wait: number;
  readonly #speed: number;
  readonly #redactor: Redactor;

  constructor({ contract, ids = [], ignore, values, lenient, speed = 0, wait = 10_000 }: ReplayOptions) {
    const keys = (contract?.exchanges ?? []).flatMap(({ key, answers }) => [key, ...answers.map((one) => one.key)]);
    const named = [...ids, contract?.session].filter((name) => name !== undefined);
    const own = [...named, ...keys.flatMap((key) => (key === undefined ? [] : keyPath(key).slice(-1)))];
    this.matcher = new Matcher({ ids: own, ignore, values, lenient });
    this.wait = wait;
    this.#speed = speed;
    // The value of a placeholder is a secret.
    const secrets = Object.entries(values ?? {}).flatMap(([recorded, now]) =>
      recorded.startsWith("__redacted_") && now.length >= MIN_SECRET ? [now] : [],
    );
    this.#redactor = new Redactor({ contract, secrets });
  }

  /** Collects the secrets of a live request, so that no problem shows them. */
  learn(headers: HeaderList, target = "", body = ""): void {
    this.#redactor.headers(headers);
    this.#redactor.target(target);
    this.#redactor.text(body);
  }

  /** Adds a problem, without the secrets seen so far. */
  found(kind: Problem["kind"], message: string, differences?: readonly Difference[]): Problem {
    const clean = differences?.map(({ at, recorded, came }) => {
      const names = at.split("/");
      const name = names.findLast((one) => this.#redactor.kindOf(one) !== "plain") ?? names.at(-1) ?? "";
      // What stands where a secret stood is one too.
      const isSecret = (JSON.stringify(recorded) ?? "").search(PLACEHOLDER) >= 0;
      return { at, recorded: this.#clean(name, recorded), came: this.#clean(isSecret ? "secret" : name, came) };
    });
    const problem = { kind, message: this.#redactor.scrub(message), ...(clean && { differences: clean }) };
    this.problems.push(problem);
    return problem;
  }

  /** A target without its secrets. */
  shown(target: string): string {
    return this.#redactor.target(target);
  }

  #clean(name: string, value: unknown): unknown {
    if (value === undefined) return undefined;
    if (name === "path" && typeof value === "string") return this.shown(value);
    return (JSON.parse(this.#redactor.text(JSON.stringify({ [name]: value }))) as Record<string, unknown>)[name];
  }

  /** Waits for the other side, within the limit. */
  within<T>(what: string, promise: () => PromiseLike<T>): Promise<T> {
    return within(this.scope, this.wait, what, promise);
  }

  /** The pause before an entry. */
  async pause({ pause }: Step): Promise<void> {
    const milliseconds = pause / this.#speed;
    if (this.#speed <= 0 || milliseconds < 1) return;
    await new Promise<void>((resolve) => {
      this.scope.timeout(milliseconds, resolve);
      this.scope.onAbort(this.scope.signal, resolve);
    });
  }
}
