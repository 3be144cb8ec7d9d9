import { setImmediate as tick } from "node:timers/promises";
import type { Act, Called, ServerLine, ServerPeer } from "@parlance/conformance";
import { type App, Refusal, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import type { AnyContract } from "@parlance/wire";
import { type Handling, isAnswer, Methods } from "./methods.js";

type ServerStep = Act["steps"][number];
type JsonMessage = Extract<ServerStep, { readonly send: unknown }>["send"];

// A server whose handlers play the acts of a conformance case: what `parlance conform --server-cmd` talks to.

interface Channel extends AsyncIterable<JsonMessage> {
  send(message: JsonMessage): Promise<void>;
  ask(message: JsonMessage): Promise<JsonMessage>;
}
interface Call {
  readonly request: Request;
  readonly signal: AbortSignal;
  session(key: string): { ask(message: JsonMessage): Promise<JsonMessage> };
}
type Input = Called["input"];
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Plays one case after the other. */
export class Fixture {
  #line: ServerLine = { case: "", acts: [] };
  #calls: Writable<Called>[] = [];
  readonly #contract: AnyContract;

  constructor(contract: AnyContract) {
    this.#contract = contract;
  }

  begin(line: ServerLine): void {
    this.#line = line;
    this.#calls = [];
  }

  report(): readonly Called[] {
    return this.#calls;
  }

  /** The handlers of every operation and channel. */
  handlers(): Record<string, unknown> {
    const { operations, channels } = this.#contract;
    const plain = Object.entries(operations).map(([name, { answer, binary }]) => [
      name,
      answer.stream
        ? (input: Input, call: Call) => this.#stream(name, input, call)
        : binary === undefined
          ? (input: Input, call: Call) => this.#answer(name, input, call)
          : (input: Input, body: ReadableStream, call: Call) => this.#answer(name, input, call, body),
    ]);
    const sockets = Object.keys(channels).map((name) => [
      name,
      this.#contract.methods
        ? this.#methods(name)
        : (input: Input, channel: Channel, call: Call) => this.#converse(name, input, channel, call),
    ]);
    return Object.fromEntries([...plain, ...sockets]);
  }

  authenticate(request: Request): string | undefined {
    const { auth } = this.#contract;
    const sent = auth?.header === undefined ? request.headers.get("Authorization") : request.headers.get(auth.header);
    const token = sent?.replace(/^Bearer /, "");
    return token === this.#line.token ? "conformance" : undefined;
  }

  #called(
    call: string,
    input: Input,
    { signal }: Call,
  ): { readonly steps: readonly ServerStep[]; readonly note: Writable<Called> } {
    const acts = (this.#line.acts as readonly Act[]).filter((act) => act.call === call);
    const note: Writable<Called> = { call, input };
    const before = this.#calls.filter((one) => one.call === call).length;
    this.#calls.push(note);
    signal.addEventListener("abort", () => {
      note.gone = true;
    });
    return { steps: acts[Math.min(before, acts.length - 1)]?.steps ?? [], note };
  }

  async #answer(name: string, input: Input, call: Call, upload?: ReadableStream): Promise<unknown> {
    const { steps, note } = this.#called(name, input, call);
    const [step] = steps;
    if (upload) note.bytes = Buffer.from(await new Response(upload).arrayBuffer()).toString("base64");
    if (step && "refuse" in step) throw refusalOf(step.refuse);
    if (step && "answer" in step) {
      const { binary, headers } = this.#contract.operations[name]!.answer;
      const value = step.answer ?? undefined;
      const body = binary === undefined || value === undefined ? value : Buffer.from(String(value), "base64");
      return headers && step.headers ? { headers: step.headers, body } : body;
    }
    throw new Refusal("the acts have no answer", { status: 501 });
  }

  async *#stream(name: string, input: Input, call: Call): AsyncGenerator<JsonMessage> {
    const { steps, note } = this.#called(name, input, call);
    const seen = new Map<string, number>();
    for (const step of steps) {
      if ("send" in step) yield step.send;
      else if ("ask" in step) {
        const key = this.#contract.session === undefined ? "" : String(input[this.#contract.session]);
        note.answers = [...(note.answers ?? []), await call.session(key).ask(step.ask)];
      } else await this.#other(step, seen, call.signal);
    }
  }

  async #converse(name: string, input: Input, channel: Channel, { signal }: Call): Promise<void> {
    const { steps, note } = this.#called(name, input, { signal } as Call);
    const messages: JsonMessage[] = [];
    note.messages = messages;
    const seen = new Map<string, number>();
    let wake = () => {};
    let ended = false;
    const reading = (async () => {
      for await (const message of channel) {
        messages.push(message);
        wake();
      }
    })()
      .catch(() => {})
      .finally(() => {
        ended = true;
        wake();
      });
    let at = 0;
    const answers: JsonMessage[] = [];
    note.answers = answers;
    const asks: Promise<void>[] = [];
    for (const [index, step] of steps.entries()) {
      if ("send" in step) await channel.send(step.send);
      else if ("ask" in step) {
        const place = steps.slice(0, index).filter((one) => "ask" in one).length;
        asks.push(
          channel.ask(step.ask).then(
            (answer) => {
              answers[place] = answer;
            },
            () => {},
          ),
        );
      } else if ("receive" in step) {
        while (!ended && messages[at]?.type !== step.receive) {
          if (at < messages.length) at++;
          else
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
        }
        at++;
      } else await this.#other(step, seen, signal);
    }
    void reading;
    void asks;
  }

  /** The handlers of a channel with methods. Each connection plays its act, which the first message begins. */
  #methods(name: string): object {
    const playing = new WeakMap<Request, (message: JsonMessage) => void>();
    const methods = new WeakMap<Request, Methods>();
    const handlers = (made: Methods) =>
      made.handlers("server", (message, call) => {
        const { request } = call as unknown as Call;
        if (!playing.has(request)) playing.set(request, this.#play(name, made, call.signal));
        playing.get(request)!(message);
      });
    const names = Object.keys(handlers(new Methods(this.#contract, () => false)));
    return Object.fromEntries(
      names.map((method) => [
        method,
        (params: unknown, call: Handling & Call) => {
          const made = methods.get(call.request) ?? new Methods(this.#contract, (id) => this.#answers(name, id));
          methods.set(call.request, made);
          return handlers(made)[method]!(params, call);
        },
      ]),
    );
  }

  /** Whether the act of a channel answers a request by itself. */
  #answers(name: string, id: unknown): boolean {
    const acts = (this.#line.acts as readonly Act[]).filter(({ call }) => call === name);
    return acts.some(({ steps }) => steps.some((step) => "send" in step && step.send.id === id && isAnswer(step.send)));
  }

  /** Plays the act of a connection; returns what takes its messages. */
  #play(name: string, methods: Methods, signal: AbortSignal): (message: JsonMessage) => void {
    const { steps, note } = this.#called(name, {}, { signal } as Call);
    const messages: JsonMessage[] = [];
    const answers: JsonMessage[] = [];
    Object.assign(note, { messages, answers });
    let read = 0;
    let wake = () => {};
    const perform = async () => {
      for (const step of steps) {
        if ("receive" in step) {
          const isNext = ({ type }: JsonMessage, index: number) => index >= read && type === step.receive;
          while (!messages.some(isNext))
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
          read = messages.findIndex(isNext) + 1;
        } else if ("send" in step) await methods.send(step.send);
        else if ("ask" in step) {
          const place = steps.slice(0, steps.indexOf(step)).filter((one) => "ask" in one).length;
          methods.send(step.ask).then(
            (answer) => {
              answers[place] = answer!;
            },
            () => {},
          );
        } else if ("fail" in step) methods.fail();
      }
    };
    // The connection may end first.
    perform().catch(() => {});
    return (message) => {
      messages.push(message);
      wake();
    };
  }

  async #other(step: ServerStep, seen: Map<string, number>, signal: AbortSignal): Promise<void> {
    if ("refuse" in step) throw refusalOf(step.refuse);
    if ("fail" in step) throw new Error("the handler fails here");
    if ("hold" in step) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    if ("call" in step) {
      const before = seen.get(step.call) ?? 0;
      while (this.#calls.filter(({ call }) => call === step.call).length <= before && !signal.aborted) await tick();
      seen.set(step.call, before + 1);
    }
  }
}

function refusalOf({ text, ...details }: { text: string; status: number }): Refusal {
  return new Refusal(text, details);
}

/** Serves a fixture on a free port of the loopback interface. Each case has an app of its own, so none sees what another has left. */
export async function listenFixture(contract: AnyContract, served = contract) {
  const fixture = new Fixture(contract);
  const make = () =>
    serve(served, fixture.handlers() as never, {
      // Cases decide what no stream asks.
      keepsAsks: true,
      ...(contract.auth && { authenticate: (request: Request) => fixture.authenticate(request) }),
      maxStreams: Number.POSITIVE_INFINITY,
      onError: false,
    });
  let app = make();
  const current: App = {
    ...app,
    open: () => app.open(),
    answer: (...given) => app.answer(...given),
    accept: (...given) => app.accept(...given),
    close: () => app.close(),
  };
  const { url, close } = await listen(current, { port: 0, closeAfter: 0 });
  const peer: ServerPeer = {
    url,
    fixture: {
      async begin(line) {
        app.close();
        app = make();
        fixture.begin(line);
      },
      report: async () => fixture.report(),
    },
    close,
  };
  return peer;
}
