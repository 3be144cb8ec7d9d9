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
  readonly #called: Called;
  readonly #scope: Scope;
  readonly #asks: OpenAsks;
  /** The question that `ask` sends now. */
  #asking: AnyMessage | undefined;

  constructor(context: Context, called: Called, scope: Scope) {
    this.#context = context;
    this.#called = called;
    this.#scope = scope;
    this.#asks = new OpenAsks(context.contract, "server");
  }

  /** Sends a question by `send`, and resolves with the decision. */
  async ask(
    message: AnyMessage,
    options: AskOptions<AnyMessage> | undefined,
    send: (message: AnyMessage) => unknown,
  ): Promise<AnyMessage> {
    const { contract, sessions } = this.#context;
    const { operation, input } = this.#called;
    const session = sessionOf(this.#context, this.#called);
    // A session shows its asks to all readers.
    if (session !== undefined && contract.operations[operation]!.answer.stream!.closedBy !== undefined)
      return sessions.session(session, String(input[contract.session!])).ask(message, options);
    const show = (): void => {
      this.#asking = message;
      try {
        send(message);
      } finally {
        this.#asking = undefined;
      }
    };
    return sessions.ask(session ?? asksOf(this.#context, this.#called, message), message, show, this.#scope, options);
  }

  /** Opens a question that the handler yields or sends. */
  note(message: AnyMessage): void {
    if (message === this.#asking || !this.#asks.exchangeOf(message)) return;
    const { sessions } = this.#context;
    const key = sessionOf(this.#context, this.#called) ?? asksOf(this.#context, this.#called, message);
    void sessions.ask(key, message, () => {}, this.#scope).catch(() => {});
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
