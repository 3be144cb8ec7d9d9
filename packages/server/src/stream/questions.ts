import type { AskOptions } from "@parlance/contract";
import type { AnyMessage } from "@parlance/wire";
import { OpenAsks } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import { asksOf, type Context, sessionOf } from "../call.js";
import type { Called } from "../options.js";

/**
 * The questions in one stream that an operation answers. Each is open until it is decided or the stream ends, whether the handler asks it by
 * `call.ask`, sends it or yields it: so a late, a second and an invented decision are refused alike.
 */
export class Questions {
  readonly #context: Context;
  readonly #principal: unknown;
  /** The session that the call names: its name, and its key where its readers share the stream's questions. */
  readonly #session: string | undefined;
  readonly #shared: string | undefined;
  readonly #scope: Scope;
  readonly #asks: OpenAsks;
  /** The question that `ask` sends now. */
  #asking: AnyMessage | undefined;

  constructor(context: Context, called: Called, scope: Scope) {
    const { session } = context.contract;
    const { closedBy } = context.contract.operations[called.operation]!.answer.stream!;
    this.#context = context;
    // Not the call: its input may be large, and a finished stream is kept for its readers.
    this.#principal = called.principal;
    this.#session = sessionOf(context, called);
    this.#shared = this.#session === undefined || closedBy === undefined ? undefined : String(called.input[session!]);
    this.#scope = scope;
    this.#asks = new OpenAsks(context.contract, "server");
  }

  /** Sends a question by `send`, and resolves with the decision. */
  async ask(
    message: AnyMessage,
    options: AskOptions<AnyMessage> | undefined,
    send: (message: AnyMessage) => unknown,
  ): Promise<AnyMessage> {
    const { sessions } = this.#context;
    // A session shows its asks to all readers.
    if (this.#shared !== undefined) return sessions.session(this.#session!, this.#shared).ask(message, options);
    const show = (): void => {
      this.#asking = message;
      try {
        send(message);
      } finally {
        this.#asking = undefined;
      }
    };
    return sessions.ask(this.#keyOf(message), message, show, this.#scope, options);
  }

  /** Opens a question that the handler yields or sends. */
  note(message: AnyMessage): void {
    if (message === this.#asking || !this.#asks.exchangeOf(message)) return;
    void this.#context.sessions.ask(this.#keyOf(message), message, () => {}, this.#scope).catch(() => {});
  }

  #keyOf(message: AnyMessage): string {
    return this.#session ?? asksOf(this.#context, this.#principal, message);
  }
}

/** Whether a stream has questions that are open for it alone. In a stream of a session they are the session's. */
export function hasQuestions({ contract, options }: Context, { operation }: Called): boolean {
  const { closedBy, messages } = contract.operations[operation]!.answer.stream!;
  return (
    closedBy === undefined &&
    !options.keepsAsks &&
    (contract.exchanges ?? []).some(
      ({ ask, by, answers }) =>
        by === "server" && messages.includes(ask) && answers.some((answer) => answer.operation !== undefined),
    )
  );
}
