import { setImmediate as turn } from "node:timers/promises";
import { connect, Disconnected } from "@parlance/client";
import { serve } from "@parlance/server";
import { type AnyContract, type AnyMessage, type Port, unfault } from "@parlance/wire";
import { type AnyChannel, pair } from "@parlance/wire/link";
import { afterAll, describe, expect, it } from "vitest";
import { subjects } from "../contracts.js";
import { isSentinel } from "../transcript.js";
import { methodsByClient, methodsByServer } from "./methods.js";
import { type Act, acts, pieces, type Sent } from "./script.js";

// Every contract's transcripts, held with our client and then with our server, whatever pieces the bytes come in. A dialect has no other test.

/** Bytes of each piece. That every event is read the same at each cut is tested where events are. */
const sizes = process.env.PARLANCE_LONG ? Array.from({ length: 100 }, (_, i) => i + 1) : [1, 3, 1000];
const held: Record<string, { client: number; server: number }> = {};
afterAll(() => console.log("calls, streams and channels of transcripts that were held:", held));

// biome-ignore lint/suspicious/noExplicitAny: one test for all contracts
type Any = any;
type Of<Kind> = Extract<Act, { readonly kind: Kind }>;
const known = (sent: readonly Sent[]) => sent.flatMap(({ message }) => message ?? []);
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

/** Calls our client as a transcript does. */
function called(contract: AnyContract, client: Any, { call, input }: Act["asked"], options: object = {}): Any {
  const { parameters, ...rest } = (contract.operations[call] ?? contract.channels[call])!;
  return parameters !== undefined || (rest as { body?: string }).body !== undefined
    ? client[call](input, options)
    : client[call](options);
}

async function heldByClient(contract: AnyContract, act: Act, size: number): Promise<void> {
  const unknown: unknown[] = [];
  const options = { retryWaits: [], resume: false, onUnknown: (one: unknown) => void unknown.push(one) };
  if (act.kind === "channel") return channelByClient(contract, act, options);
  const body = act.kind === "call" ? act.answered.body : act.sent.map(({ wire }) => wire).join("");
  const status = act.kind === "call" ? act.answered.status : contract.operations[act.asked.call]!.answer.status;
  const type = act.kind === "call" ? act.answered.type : "text/event-stream";
  const empty = [204, 205].includes(status);
  const fetch = async () =>
    new Response(empty ? null : pieces(body ?? "", size), { status, headers: type ? { "Content-Type": type } : {} });
  const answer = called(contract, connect(contract, { fetch, ...options }), act.asked);
  if (act.kind === "call") {
    const { status, answer: expected } = act.answered;
    if (status < 400) return expect(await answer).toEqual(expected);
    expect(await failure(answer.opened ?? answer)).toMatchObject({ name: "Refusal", status });
    return;
  }
  const heard: AnyMessage[] = [];
  const error = await failure(
    (async () => {
      for await (const message of answer) heard.push(message);
    })(),
  );
  expect(heard).toEqual(known(act.sent));
  const { end = [], mayEnd = [] } = contract.operations[act.asked.call]!.answer.stream!;
  const sentinels = act.sent.filter((line) => isSentinel(contract, act.asked.call, line)).length;
  expect(unknown).toHaveLength(act.sent.length - heard.length - sentinels);
  const last = act.sent.findLast(({ message }) => message)?.message?.type as string;
  const isOver = sentinels > 0 || [...end, ...mayEnd].includes(last);
  if (isOver) expect(error).toBeUndefined();
  else expect(error).toBeInstanceOf(Disconnected);
}

async function channelByClient(contract: AnyContract, { asked, sent }: Of<"channel">, options: object): Promise<void> {
  const [near, far] = pair();
  const frames: string[] = [];
  far.listen({ frame: (text) => void frames.push(text), close() {} });
  const opening = sent.find(({ from, message }) => from === "client" && message)?.message;
  const opens = contract.channels[asked.call]!.open?.client;
  const { type: _, ...open } = (opens !== undefined && opening?.type === opens ? opening : {}) as AnyMessage;
  const webSocket = async () => near;
  const channel: AnyChannel = await called(contract, connect(contract, { webSocket, ...options }), asked, { open });
  const incoming = channel[Symbol.asyncIterator]();
  for (const { from, wire, message, read } of sent) {
    if (from === "server") far.send(wire);
    if (from === "server" && message) expect((await incoming.next()).value).toEqual(message);
    if (from === "server" || !message || read) continue;
    if (message !== opening || message.type !== opens) channel.send(message);
    await turn();
    expect(frames.at(-1)).toBe(wire);
  }
  await channel.close();
}

/** A server whose handlers do what a transcript's calls say. */
function server(contract: AnyContract) {
  const now: { act?: Act; got?: unknown } = {};
  const refuse = ({ answered: { status, body } }: Of<"call">) => unfault(contract, status, body ?? "", undefined);
  const refused = () => now.act?.kind === "call" && now.act.answered.status >= 400 && refuse(now.act);
  const operations = Object.entries(contract.operations).map(([name, { answer }]) => {
    async function* stream(input: unknown) {
      now.got = input;
      if (refused()) throw refused();
      yield* known((now.act as Of<"stream">).sent);
    }
    const call = (input: unknown) => {
      now.got = input;
      if (refused()) throw refused();
      return (now.act as Of<"call">).answered.answer;
    };
    return [name, answer.stream ? stream : call];
  });
  const channels = Object.keys(contract.channels).map((name) => [
    name,
    async (input: unknown, channel: AnyChannel) => {
      now.got = input;
      const incoming = channel[Symbol.asyncIterator]();
      for (const { from, message } of byHandlers(contract, (now.act as Of<"channel">).sent))
        if (from === "server") channel.send(message!);
        else expect((await incoming.next()).value).toEqual(message);
      await incoming.next();
    },
  ]);
  const handlers = Object.fromEntries([...operations, ...channels]);
  // A transcript's answers come after the stream that asked.
  const options = { allowAnonymous: true, heartbeat: 0, onError: false, keepsAsks: true } as const;
  return { app: serve(contract as Any, handlers, options), now };
}

/** What a handler sends and reads. The runtime itself answers what no contract knows, and what may not be asked yet. */
function byHandlers({ exchanges = [] }: AnyContract, sent: readonly Sent[]): readonly Sent[] {
  const isBusy = (line?: Sent) => exchanges.some(({ busy }) => busy !== undefined && busy === line?.message?.type);
  return sent.filter((line, i) => {
    const before = sent[i - 1];
    if (!line.message || isBusy(line)) return false;
    return line.from === "client" ? !isBusy(sent[i + 1]) : before?.from !== "client" || before.message !== undefined;
  });
}

async function heldByServer({ app, now }: ReturnType<typeof server>, contract: AnyContract, act: Act, size: number) {
  const { request, input } = act.asked;
  if (!request) return;
  Object.assign(now, { act, got: undefined });
  const url = new URL(request.target, contract.url);
  if (act.kind === "channel") return channelByServer(app, act, url.href.replace("http", "ws"));
  const body = request.body === undefined ? {} : { body: pieces(request.body, size), duplex: "half" };
  const headers = request.body === undefined ? {} : { "Content-Type": "application/json" };
  const response = await app.fetch(new Request(url, { method: request.method, headers, ...body } as RequestInit));
  expect(now.got).toEqual(input);
  if (act.kind === "call") {
    const { status, type, body, read } = act.answered;
    expect(response.status).toBe(status);
    const text = await response.text();
    if (!read) expect([response.headers.get("Content-Type")?.split(";")[0], text]).toEqual([type, body]);
    return;
  }
  const wanted = act.sent.filter(({ message }) => message);
  let text = "";
  const bytes = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  while (text.split("\n\n").length <= wanted.length) {
    const { done, value } = await bytes.read();
    if (done) break;
    text += value;
  }
  await bytes.cancel();
  const blocks = text.split(/(?<=\n\n)/);
  for (const [i, { wire, read }] of wanted.entries()) if (!read) expect(blocks[i]).toBe(wire);
  // A handler that stops before an end is followed by the protocol's error.
  expect(blocks.filter(Boolean).length).toBeGreaterThanOrEqual(wanted.length);
}

async function channelByServer(app: ReturnType<typeof server>["app"], { sent }: Of<"channel">, url: string) {
  const port = (await app.webSocket(url, { headers: {}, protocols: [], maxSize: 1e6 })) as Port;
  const frames: string[] = [];
  const closed = new Promise<number>((resolve) =>
    port.listen({ frame: (text) => void frames.push(text), close: resolve }),
  );
  let expected = 0;
  for (const { from, wire, read, message } of sent) {
    if (from === "client") port.send(wire);
    else if (message) {
      for (let turns = 0; frames.length <= expected && turns < 1000; turns++) await turn();
      if (!read) expect(frames[expected]).toBe(wire);
      expected++;
    }
  }
  expect(frames).toHaveLength(expected);
  port.close(1000, "");
  await closed;
}

describe.each(subjects)("$contract.name", ({ contract, document }) => {
  const transcripts = Object.entries(document.transcripts);
  held[contract.name] = { client: 0, server: 0 };

  it.each(transcripts)("our client holds the transcript %s", async (_, lines) => {
    for (const act of acts(contract, lines))
      for (const size of act.kind === "channel" ? [1] : sizes) {
        if (contract.methods) await methodsByClient(contract, act.asked.call, (act as Of<"channel">).sent);
        else await heldByClient(contract, act, size);
        held[contract.name]!.client++;
      }
  });

  it.each(transcripts)("our server holds the transcript %s", async (_, lines) => {
    const serving = contract.methods ? undefined : server(contract);
    for (const act of acts(contract, lines))
      for (const size of act.asked.request?.body === undefined ? [1] : sizes) {
        if (serving) await heldByServer(serving, contract, act, size);
        else await methodsByServer(contract, act.asked.call, (act as Of<"channel">).sent);
        held[contract.name]!.server++;
      }
  });
});
