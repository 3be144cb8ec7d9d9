import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, type Hooks, Refusal, type ServeOptions, serve } from "@parlance/server";
import { clusterOn, memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import type { AnyMessage } from "@parlance/wire";
import type { Case } from "./cases.js";
import { faultyLog, faultyPubSub, type Injection, injection } from "./injection.js";
import { pass } from "./time.js";

export const LIMITS = {
  authenticateWithin: 20,
  hookWithin: 20,
  answerWithin: 20,
  bodyWithin: 20,
  socketWithin: 20,
  storeWithin: 20,
  queryWithin: 10,
  interruptedFor: 10,
  heartbeat: 10,
  stall: 30,
  grace: 50,
  tombstoneLife: 20,
  lingerFor: 20,
} satisfies ServeOptions;

export const TOKEN = { Authorization: "Bearer me" };

/** Servers with one fault planted in one of their ports. */
export interface Fixture {
  readonly one: Case;
  readonly injection: Injection;
  /** The server that begins conversations, and the one that they go on at: the same one without a cluster. */
  readonly apps: readonly [App, App];
  /** Sources of what `onError` was given. */
  readonly reported: Set<string>;
  /** Subscriptions that pub/sub holds. */
  held(): number;
  /** Withdraws what the agent asks. */
  withdraw(): void;
}

export function fixture(one: Case): Fixture {
  const planted = injection(one);
  const reported = new Set<string>();
  const log = faultyLog(memoryLog(), planted);
  const pubSub = faultyPubSub(memoryPubSub(), planted);
  const asking = new AbortController();
  const options: ServeOptions = {
    ...LIMITS,
    hooks: hooksOf(planted),
    resume: one.mode !== "base",
    ...(one.mode !== "base" && { log }),
    ...(one.mode === "cluster" && { cluster: clusterOn(pubSub) }),
    authenticate: (request) =>
      planted.call("authenticate", () => {
        const [, name] = /^Bearer (.+)$/.exec(request.headers.get("Authorization") ?? "") ?? [];
        if (name === undefined) throw new Refusal("a token is needed", { status: 401 });
        return name;
      }),
    identify: (principal) => planted.call("identify", () => String(principal)),
    onError(_, { source }) {
      reported.add(source);
      return planted.call("onError", () => {});
    },
  };
  const make = () => appOf(one, planted, options, asking.signal);
  const a = make();
  // A server subscribes to what decisions need when it is made.
  planted.armed = one.port === "pubSub.subscribe" && one.carrier === "operation";
  return {
    one,
    injection: planted,
    apps: [a, one.mode === "cluster" ? make() : a],
    reported,
    held: () => pubSub.held(),
    withdraw: () => asking.abort(),
  };
}

function hooksOf({ call }: Injection): Hooks {
  const hook = (name: keyof Hooks) => () => call(`hooks.${name}`, () => {});
  const names = ["request", "open", "message", "unknown", "done", "refuse", "close"] as const;
  return Object.fromEntries(names.map((name) => [name, hook(name)])) as Hooks;
}

function appOf(one: Case, planted: Injection, options: ServeOptions, asking: AbortSignal): App {
  /** `onError` needs an error. */
  const broken = (): void => {
    if (one.port === "onError" && planted.armed) throw new Error("planted for onError");
  };
  // The server closes a channel whose handler returns.
  const returns = () => one.port === "socket.close" && planted.armed;
  if (one.carrier === "channel") return channelApp(planted, options, broken, returns);
  if (one.carrier === "SSE on POST") {
    const text = (text: string) => ({ type: "text", text });
    const send = ({ content }: { content: string }, { signal }: { signal: AbortSignal }) =>
      planted.call("handler.call", () => stream(planted, signal, text, broken, content === "short"));
    return serve(foldGateway, { send } as never, options);
  }
  const delta = (content: string) => ({ type: "message.delta", content, role: "assistant" });
  const handlers = {
    events: (_: unknown, { signal }: { signal: AbortSignal }) =>
      planted.call("handler.call", () => stream(planted, signal, delta, broken, false)),
    prompt({ session_id, text }: { session_id: string; text: string }, { session }: AgentCall) {
      const message = { type: "tool.call", tool_call_id: text, tool: "t", params: {}, requires_approval: true };
      session(session_id)
        .ask(message, { signal: asking })
        .catch(() => {});
      return { status: "accepted", agent_state: "thinking" };
    },
    approve: ({ tool_call_id }: { tool_call_id: string }) =>
      planted.call("handler.call", () => {
        broken();
        return { status: "approved", tool_call_id };
      }),
  };
  return serve(emacsAgent, handlers as never, options);
}

interface AgentCall {
  session(key: string): { ask(message: AnyMessage, options: { signal: AbortSignal }): Promise<unknown> };
}

/** Two messages, and then nothing until the signal is aborted; or one message and the protocol's end. */
function stream(
  { call }: Injection,
  signal: AbortSignal,
  messageOf: (text: string) => object,
  broken: () => void,
  short: boolean,
): AsyncIterable<object> {
  let step = 0;
  const give = (value: object) => ({ done: false as const, value });
  const done = { done: true as const, value: undefined };
  async function next(): Promise<IteratorResult<object>> {
    step++;
    if (step === 1) {
      broken();
      return call("handler.first", () => give(messageOf("1")));
    }
    if (short) return step === 2 ? give({ type: "done", full_response: "" }) : done;
    // A caller that is cut after the first message has not got the second.
    if (step === 2) await pass(10);
    if (step === 2) return call("handler.later", () => give(messageOf("2")));
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return done;
  }
  return { [Symbol.asyncIterator]: () => ({ next, return: () => call("handler.return", async () => done) }) };
}

function channelApp({ call }: Injection, options: ServeOptions, broken: () => void, returns: () => boolean): App {
  return serve(
    based,
    {
      session: (_, channel) =>
        call("handler.call", async () => {
          broken();
          channel.send({ type: "initial_state", files: [], activeFile: null });
          for await (const message of channel) {
            await call("handler.later", () => {});
            if (message.type === "read_file")
              channel.send({ type: "file_content", filename: message.filename, content: "" });
            if (returns()) return;
          }
        }),
    },
    options,
  );
}
