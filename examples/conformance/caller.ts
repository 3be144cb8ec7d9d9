import { type ConnectOptions, connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import type { ClientLine, ClientPeer, Told } from "@parlance/conformance";
import { type AnyContract, Disconnected, type Json, Refusal, Violation } from "@parlance/wire";
import { isAnswer, Methods, type Calls as Sending } from "./methods.js";

type ClientStep = ClientLine["steps"][number];
type JsonMessage = Extract<ClientStep, { readonly send: unknown }>["send"];
type ToldError = NonNullable<Told["error"]>;

// A client that does what a conformance case says and reports what came: what `parlance conform --client` talks to.

interface Open extends AsyncIterable<JsonMessage> {
  send?(message: JsonMessage): Promise<void>;
  ask?(message: JsonMessage): Promise<JsonMessage>;
  close?(): Promise<void>;
  cancel?(): void;
}

type Calls = Readonly<Record<string, (input: unknown, options?: object) => unknown>>;

/** Calls as the lines say. `options` are those of a client under test. */
export function caller(contract: AnyContract, options: ConnectOptions = {}): ClientPeer {
  return {
    async call({ url, token, operation, input, steps, bytes }: ClientLine): Promise<Told> {
      const calls = connect(contract, {
        baseUrl: url,
        // Node 20 has none of its own, and that of a browser carries no token.
        ...((contract.auth || !("WebSocket" in globalThis)) && { webSocket }),
        retryWaits: [],
        // A cut is reported, not hidden.
        resume: false,
        onUnknown() {},
        ...(contract.auth && { token }),
        ...options,
      }) as Calls;
      const messages: Json[] = [];
      try {
        if (contract.methods) {
          await converseByMethods(contract, calls[operation]!, steps, messages);
          return { messages, error: null };
        }
        const { answer } = contract.operations[operation] ?? {};
        // The message that opens a channel is an option of its call.
        const opens = contract.channels[operation]?.open?.client;
        const opening = steps.find((step) => "send" in step);
        const isOpening = opening !== undefined && opening.send.type === opens;
        const called = calls[operation]!(input, {
          ...(isOpening && { open: fieldsOf(opening.send) }),
          ...(bytes !== undefined && { body: Buffer.from(bytes, "base64") }),
        });
        if (answer && !answer.stream) messages.push(await resultOf(await called));
        else
          await converse(
            (await called) as Open,
            isOpening ? steps.filter((step) => step !== opening) : steps,
            messages,
            calls,
          );
        return { messages, error: null };
      } catch (error) {
        return { messages, error: errorOf(error) };
      }
    },
    async close() {},
  };
}

/** The result of an operation as JSON: bytes in base64. */
async function resultOf(result: unknown): Promise<Json> {
  if (result instanceof ReadableStream) return Buffer.from(await new Response(result).arrayBuffer()).toString("base64");
  const { body } = (result ?? {}) as { readonly body?: unknown };
  if (body instanceof ReadableStream) return { ...(result as object), body: await resultOf(body) };
  return result as Json;
}

function fieldsOf({ type, ...fields }: JsonMessage): object {
  return fields;
}

async function converse(open: Open, steps: readonly ClientStep[], messages: Json[], calls: Calls): Promise<void> {
  let wake = () => {};
  let over = false;
  let left = false;
  const reading = (async () => {
    for await (const message of open) {
      messages.push(message);
      wake();
    }
  })().finally(() => {
    over = true;
    wake();
  });
  reading.catch(() => {});
  let due = 0;
  for (const step of steps) {
    if ("receive" in step) {
      due += step.receive;
      while (messages.length < due && !over)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    } else if (over && !("call" in step)) break;
    else if ("send" in step) await open.send!(step.send);
    else if ("ask" in step) messages.push(await open.ask!(step.ask));
    // What becomes of it has a case of its own.
    else if ("call" in step) await Promise.resolve(calls[step.call]!(step.input)).catch(() => {});
    else if ("close" in step) {
      left = true;
      open.cancel?.();
      await open.close?.();
    }
  }
  try {
    await reading;
  } catch (error) {
    // A stream that this side has cancelled ends with an error of its own.
    if (!left) throw error;
  }
}

/** A channel with methods: requests, notifications and answers are messages too. */
async function converseByMethods(
  contract: AnyContract,
  open: Calls[string],
  steps: readonly ClientStep[],
  messages: Json[],
): Promise<void> {
  let wake = () => {};
  let failed: unknown;
  const arrived = (message: JsonMessage | undefined) => {
    if (message) messages.push(message);
    wake();
  };
  const answers = steps.flatMap((step) => ("send" in step && isAnswer(step.send) ? [step.send.id] : []));
  const methods = new Methods(contract, (id) => answers.includes(id as never));
  const channel = (await open(methods.handlers("client", arrived))) as MethodChannel;
  methods.attach(channel);
  let over = false;
  const closed = channel.closed.finally(() => {
    over = true;
    wake();
  });
  closed.catch(() => {});
  let due = 0;
  for (const step of steps) {
    if ("receive" in step) {
      due += step.receive;
      while (messages.length < due && !over && failed === undefined)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    } else if ("send" in step && isAnswer(step.send)) await methods.send(step.send);
    else if ("send" in step)
      methods.send(step.send).then(arrived, (error: unknown) => {
        if (error instanceof Violation) failed ??= error;
        wake();
      });
    else if ("close" in step) await channel.close();
  }
  await closed;
  if (failed) throw failed;
}

interface MethodChannel extends Sending {
  close(): Promise<void>;
  readonly closed: Promise<unknown>;
}

function errorOf(error: unknown): ToldError {
  if (error instanceof Refusal)
    return { kind: "refusal", status: error.status, code: error.code, text: error.message } as ToldError;
  if (error instanceof Violation) return { kind: "violation", code: error.code, text: error.message };
  if (error instanceof Disconnected) return { kind: "disconnected", code: error.code, text: error.message };
  throw error;
}
