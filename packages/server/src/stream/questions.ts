import { type AnyMessage, type AskOptions, Violation } from "@parlance/wire";
import { valueAt } from "@parlance/wire/internal/pointer";
import { OpenAsks } from "@parlance/wire/link";
import type { Scope } from "@parlance/wire/scope";
import { asksOf, type Context, sessionOf } from "../call.js";
import { ignorable } from "../callback.js";
import type { Called } from "../hooks.js";

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
  /** The session's key in the last message that has one, such as the first message of a new session. */
  #key: unknown;

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
  ask(
    message: AnyMessage,
    options: AskOptions<AnyMessage> | undefined,
    send: (message: AnyMessage) => unknown,
  ): Promise<AnyMessage> {
    return ignorable(this.#ask(message, options, send));
  }

  async #ask(
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
    return sessions.ask(this.#nameOf(message), message, show, this.#scope, options);
  }

  /** Opens a question that the handler yields or sends. Throws what keeps it from being opened. */
  note(message: AnyMessage): void {
    this.#key = this.#keyIn(message);
    const { options, sessions } = this.#context;
    if (options.keepsAsks || message === this.#asking || !this.#asks.exchangeOf(message)) return;
    sessions.ask(this.#nameOf(message), message, () => {}, this.#scope).catch(() => {});
  }

  #keyIn(message: AnyMessage): unknown {
    const { session } = this.#context.contract;
    return session === undefined ? undefined : (valueAt(message, [session]) ?? this.#key);
  }

  /** @throws `Violation` where no decision could find the question */
  #nameOf(message: AnyMessage): string {
    const { contract } = this.#context;
    const name = this.#session ?? asksOf(this.#context, this.#principal, this.#keyIn(message));
    if (name !== undefined) return name;
    const { type: subject } = message;
    const session = contract.session!;
    throw new Violation(
      `\`${session}\` is missing in the message ${subject}, its call and the messages before it, so that no decision could find the question: set it, or the option keepsAsks`,
      {
        code: "schema",
        protocol: contract.name,
        side: "server",
        subject,
        flaws: [{ at: "", keyword: "required", params: { missingProperty: session } }],
      },
    );
  }
}

/** Whether a stream has questions that are open for it alone. In a stream of a session they are the session's. */
export function hasQuestions({ contract }: Context, { operation }: Called): boolean {
  const { closedBy, messages } = contract.operations[operation]!.answer.stream!;
  return (
    closedBy === undefined &&
    (contract.exchanges ?? []).some(
      ({ ask, by, answers }) =>
        by === "server" && messages.includes(ask) && answers.some((answer) => answer.operation !== undefined),
    )
  );
}
