import type { Exchange } from "@parlance/wire";
import { keyPath, valueAt, withValue } from "@parlance/wire/internal/pointer";
import { OpenAsks } from "@parlance/wire/link";
import { alike, meet, type ServerCase } from "../case.js";
import type { FlatInput, Samples } from "../samples.js";
import type { Called, JsonMessage } from "../steps.js";
import type { TestedServer } from "../tested.js";
import { after, channelCase } from "./channel-case.js";
import { success } from "./operations.js";
import { Messages, meetMessage, nextMessage, reported } from "./read.js";

/** Asks of either side on a channel or stream. */
export function exchangeCases(samples: Samples): ServerCase[] {
  // The requests of methods have cases of their own.
  const exchanges = samples.contract.methods ? [] : (samples.contract.exchanges ?? []);
  return exchanges.flatMap((exchange, index) => {
    const at = `contract.json#/exchanges/${index}`;
    const channel = Object.keys(samples.contract.channels).find((name) =>
      samples.names(name, exchange.by).includes(exchange.ask),
    );
    if (exchange.by === "client") return channel === undefined ? [] : busy(samples, channel, exchange, at);
    return channel === undefined ? answeredByCall(samples, exchange, at) : serverAsks(samples, channel, exchange, at);
  });
}

function busy(samples: Samples, name: string, { ask, busy: refusal }: Exchange, at: string): ServerCase[] {
  const message = samples.example(name, "client", ask);
  if (refusal === undefined || !message) return [];
  return [
    channelCase(samples, name, {
      id: `busy/${ask}`,
      title: `a second ${ask} is answered with ${refusal} while the first is open`,
      at: `${at}/busy`,
      kill: "no-busy",
      act: after(samples, name, [{ receive: ask }, { hold: true }]),
      async talk(frames) {
        const text = samples.frame(name, "client", message);
        frames.send(text);
        frames.send(text);
        const { type } = await nextMessage(samples, name, frames);
        meet(type === refusal, refusal, type);
      },
    }),
  ];
}

/** An ask with a key, and an answer to it. */
function keyed(
  samples: Samples,
  name: string,
  exchange: Exchange,
  value: string,
): { ask: JsonMessage; answer: JsonMessage; partial?: JsonMessage } | undefined {
  const { ask, key, when, answers } = exchange;
  const reply = answers.find((one) => one.message !== undefined);
  const example = samples.example(name, "server", ask);
  const found = reply && samples.example(name, "client", reply.message!);
  if (key === undefined || !example || !found) return undefined;
  const own = reply.key ?? key;
  const [field, values] = Object.entries(reply.partial ?? {})[0] ?? [];
  const full =
    field === undefined
      ? found
      : samples.said(name, "client", reply.message!).find((one) => !values!.includes(one.value[field]!))?.value;
  if (!full) return undefined;
  const asked = withValue({ ...example, ...when }, keyPath(key), value) as JsonMessage;
  const answer = withValue(full, keyPath(own), value) as JsonMessage;
  if (field === undefined) return { ask: asked, answer };
  // A part of something else: where the ask has only one part, the answer about that one is whole.
  const other = (reply.whole ?? [])
    .flatMap(({ same = {} }) => Object.keys(same))
    .map((of) => [of, "conformance/other"]);
  const partial = { ...answer, [field]: values![0]!, ...Object.fromEntries(other) };
  const asks = new OpenAsks(samples.contract, "server");
  asks.open({ ...asked, type: ask });
  return { ask: asked, answer, ...(asks.find({ ...partial, type: reply.message! })?.partial && { partial }) };
}

function serverAsks(samples: Samples, name: string, exchange: Exchange, at: string): ServerCase[] {
  const one = keyed(samples, name, exchange, "conformance-1");
  const two = keyed(samples, name, exchange, "conformance-2");
  if (!one || !two) return [];
  const holds = (
    id: string,
    title: string,
    kill: string,
    sends: readonly JsonMessage[],
    asks: readonly JsonMessage[],
    answers: readonly JsonMessage[],
  ) =>
    channelCase(samples, name, {
      id: `${id}/${exchange.ask}`,
      title,
      at,
      kill,
      act: after(samples, name, [...asks.map((ask) => ({ ask })), { hold: true }]),
      async talk(frames, peer) {
        for (const ask of asks) await meetMessage(samples, name, frames, ask);
        for (const message of sends) frames.send(samples.frame(name, "client", message));
        await meetAnswers(peer, name, answers);
      },
    });
  const both = [one.answer, two.answer];
  const asks = [one.ask, two.ask];
  const { ask } = exchange;
  const inAnyOrder = `answers to ${ask} settle the ask whose key they repeat, in any order`;
  const double = `a second answer to the same ${ask} settles no other`;
  const late = `an answer to ${ask} that nobody asked for settles nothing`;
  const cases = [
    holds("by-key", inAnyOrder, "ignore-key", [two.answer, one.answer], asks, both),
    holds("double", double, "ignore-key", [one.answer, ...both], asks, both),
    holds("late", late, "ignore-key", [two.answer, one.answer], [one.ask], [one.answer]),
  ];
  if (!one.partial) return cases;
  const partial = `a partial answer to ${ask} leaves it open`;
  return [...cases, holds("partial", partial, "partial-settles", [one.partial, one.answer], [one.ask], [one.answer])];
}

export async function meetAnswers(peer: TestedServer, name: string, expected: readonly JsonMessage[]): Promise<void> {
  const wanted = `the asks to be answered with ${JSON.stringify(expected)}`;
  const answers = (called?: Called) => called?.answers ?? [];
  await reported(peer, name, wanted, answers, (came) => {
    // The second ask may be answered before the first.
    if (alike(expected, came)) return true;
    meet(came.length <= expected.length, wanted, came);
    return false;
  });
}

/** An ask on a stream that an operation answers: a second answer is refused. */
function answeredByCall(samples: Samples, exchange: Exchange, at: string): ServerCase[] {
  const { ask, key, when } = exchange;
  const stream = Object.keys(samples.contract.operations).find((name) => samples.names(name, "server").includes(ask));
  const message =
    stream === undefined
      ? undefined
      : samples.said(stream, "server", ask).find(({ value }) => alike(when ?? {}, value))?.value;
  const { session } = samples.contract;
  if (stream === undefined || session === undefined || !message || key === undefined) return [];
  // The first message opens the stream.
  const before = samples.flow(stream).find(({ type }) => type !== ask);
  return exchange.answers.flatMap(({ operation, key: own = key }): ServerCase[] => {
    if (operation === undefined) return [];
    const shared = session === undefined ? {} : { [session]: samples.input(stream)[session]! };
    const input = { ...samples.input(operation), ...shared };
    const asked = valueAt(message, keyPath(key));
    const asking = samples.asking(operation, withValue(input, keyPath(own), asked) as FlatInput);
    return [
      {
        id: `server/${operation}/double/${ask}`,
        side: "server",
        level: "should",
        title: `a second ${operation} for the same ${ask} is refused`,
        at,
        kill: "answer-twice",
        acts: [
          { call: stream, steps: [...(before ? [{ send: before }] : []), { ask: message }, { hold: true }] },
          success(samples, operation),
        ],
        async run(peer) {
          const opened = await peer.open(samples.asking(stream, samples.input(stream)));
          try {
            const messages = new Messages(samples, stream, opened);
            for (let came = await messages.next(); came?.type !== ask; came = await messages.next())
              meet(came !== undefined, ask, "the end of the stream");
            const first = await peer.request(asking);
            meet(first.status < 300, "the first answer to be taken", `${first.status} ${first.text}`);
            const second = await peer.request(asking);
            meet(second.status >= 400, "the second answer to be refused", `${second.status} ${second.text}`);
          } finally {
            opened.abort();
          }
        },
      },
    ];
  });
}
