import {
  type AnyContract,
  type Faulted,
  fault,
  faultMessage,
  type Port,
  Refusal,
  unbind,
  Violation,
} from "@parlance/wire";
import { type AnyChannel, link } from "@parlance/wire/link";
import { decoderFor, encoderFor } from "./codecs.js";
import { type Called, MAX_MESSAGE_SIZE, MAX_QUEUED } from "./options.js";
import { cancelled, closing } from "./reason.js";
import { refuse } from "./reply.js";
import { callOf, identify, occupy, refusalOf, type Serving, sessionOf, tell } from "./serving.js";

const BUSY = "Another operation is already in progress. Please wait.";

/** What a server says to somebody who asks for a socket: no, or how to go on once it is open. */
export type Accepted =
  | { readonly refused: Faulted & { readonly headers: Readonly<Record<string, string>> } }
  | {
      readonly run: (port: Port) => void;
      /** The subprotocol to select, where one was offered that we know. */
      readonly protocol?: string;
    };

/** Who asks for a channel, and with which input; throws what refuses it. */
export async function callChannel(
  serving: Serving,
  name: string,
  path: Readonly<Record<string, string>>,
  request: Request,
): Promise<Called> {
  const principal = await identify(serving, request);
  const { input } = unbind(serving.contract, await serving.accepts(), [name], {
    path,
    query: new URL(request.url).searchParams,
  });
  const called: Called = { operation: name, input, request, principal };
  await serving.options.hooks?.request?.(called);
  return called;
}

/** Decides on a handshake: never throws. */
export async function accept(
  serving: Serving,
  name: string,
  path: Readonly<Record<string, string>>,
  request: Request,
): Promise<Accepted> {
  try {
    if (serving.draining.aborted) throw new Refusal("the server is closing", { status: 503, retryAfter: 1 });
    const called = await callChannel(serving, name, path, request);
    const release = occupy(serving, called.principal);
    return { run: (port) => void converse(serving, called, port).finally(release) };
  } catch (error) {
    const { headers } = refuse(serving, request, error, name);
    return { refused: { ...fault(serving.contract, name, refusalOf(error)), headers } };
  }
}

/** Holds the conversation of a channel over a port, until it is closed. */
export async function converse(serving: Serving, called: Called, port: Port): Promise<void> {
  const { contract, options, handlers, sessions, shutting } = serving;
  const { hooks } = options;
  const name = called.operation;
  const described = contract.channels[name]!;
  const incoming = await serving.accepts();

  function report(refusal: Refusal, about?: string): void {
    if (described.fault === undefined) return;
    const echo = echoOf(contract, described.fault);
    const message = faultMessage(contract, described.fault, refusal);
    if (echo === undefined || about === undefined) return wire.say(message);
    try {
      wire.say({ ...message, [echo]: about });
    } catch (error) {
      // With this echo it would be another message (based: a read error, which names its file).
      if (!(error instanceof Violation)) throw error;
      wire.say(message);
    }
  }

  const wire = link(contract, port, {
    channel: name,
    side: "server",
    encode: encoderFor(contract, {
      side: "server",
      names: described.server,
      checks: contract.checks,
      profile: options.profile,
    }),
    decode: decoderFor(contract, { side: "client", names: described.client, checks: incoming }),
    maxSize: options.maxMessageSize ?? MAX_MESSAGE_SIZE,
    maxQueued: options.maxQueued ?? MAX_QUEUED,
    onMessage(message, from) {
      try {
        hooks?.message?.(called, message, from);
      } catch (error) {
        if (from !== "client" || !(error instanceof Refusal)) throw error;
        tell(hooks, called.request, error, error, name);
        if (described.fault === undefined) wire.fail(error, 1008, "refused");
        else report(error, message.type);
        return false;
      }
      // What others say to the session waits until the channel has been opened in the protocol's words.
      if (from === "server") queueMicrotask(join);
    },
    busy: (fault) => faultMessage(contract, fault, new Refusal(BUSY, { status: 409 })),
    onUnknown(unknown) {
      hooks?.unknown?.(called, unknown);
      // Where answers come by order somebody waits for one; elsewhere a newer peer may say more than this contract knows.
      if (!answersByOrder(contract)) return;
      const what = JSON.stringify(unknown.body).slice(0, 200);
      report(
        refusalOf(
          new Violation(`unknown message ${what}`, {
            code: "unknown_message",
            protocol: contract.name,
            side: "client",
          }),
        ),
      );
    },
    onViolation(violation) {
      const refusal = refusalOf(violation);
      tell(hooks, called.request, refusal, violation, name);
      if (violation.code === "opening" || violation.code === "too_large") throw violation;
      report(refusal, violation.subject);
    },
  });
  const { channel } = wire;
  const gone = new AbortController();
  channel.closed.then(
    () => gone.abort(serving.draining.aborted ? closing() : cancelled()),
    (error) => gone.abort(error),
  );
  const shut = () => void channel.close(1001, "the server is closing");
  shutting.add(shut);

  const key = sessionOf(serving, called);
  const subscriber = { send: wire.send, ask: channel.ask, end: () => void channel.close() };
  let unsubscribe: (() => void) | undefined;
  function join(): void {
    if (key !== undefined && !gone.signal.aborted) unsubscribe ??= sessions.subscribe(key, subscriber);
  }
  if (described.open?.server === undefined) join();
  hooks?.open?.(called);
  let how: "done" | "gone" | "failed" = "done";
  try {
    const handler = handlers[name];
    if (!handler) throw new TypeError(`${contract.name} is served without a handler for ${name}`);
    await (handler as (input: unknown, channel: AnyChannel, call: unknown) => unknown)(
      called.input,
      channel,
      callOf(serving, called, gone.signal),
    );
    if (gone.signal.aborted) how = "gone";
    await channel.close();
  } catch (error) {
    how = gone.signal.aborted ? "gone" : "failed";
    if (how === "failed") {
      const refusal = refusalOf(error);
      tell(hooks, called.request, refusal, error, name);
      try {
        report(refusal);
      } catch {
        // The channel is not open for a fault yet; the close code says it.
      }
      wire.fail(error, 1011, "the handler failed");
    }
  } finally {
    unsubscribe?.();
    shutting.delete(shut);
    hooks?.close?.(called, how);
  }
}

/** The property in which a fault names the message that it is about. */
function echoOf(contract: AnyContract, message: string): string | undefined {
  return contract.exchanges?.flatMap(({ answers }) => answers).find((answer) => answer.message === message)?.echo;
}

function answersByOrder({ exchanges = [] }: AnyContract): boolean {
  return exchanges.some(({ by, key }) => by === "client" && key === undefined);
}
