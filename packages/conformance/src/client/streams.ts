import type { ClientCase } from "../case.js";
import { type Lenient, messageMutants } from "../mutant.js";
import type { Samples } from "../samples.js";
import { unknownMessage } from "../server/channel-case.js";
import type { ClientStep, JsonMessage } from "../steps.js";
import type { Exchange } from "../tested.js";
import { framingCases } from "./framing.js";
import { aboutMutant, beginStream, meetError, meetFirst, meetMessages, readPlainly } from "./read.js";

/** Streams: each message, framing, ends, missing ends, cuts at each step, unknown messages and those that break their schema. */
export async function streamCases(samples: Samples, lenient: Lenient): Promise<ClientCase[]> {
  const cases: ClientCase[] = [];
  for (const [name, { answer }] of Object.entries(samples.contract.operations)) {
    // Every case is about events.
    if (!answer.stream || answer.stream.lines !== undefined) continue;
    cases.push(
      ...messages(samples, name),
      ...ends(samples, name),
      ...framingCases(samples, name),
      ...unknown(samples, name),
    );
    cases.push(...flaws(samples, name), ...(await schemas(samples, lenient, name)));
  }
  return cases;
}

interface Play {
  readonly id: string;
  readonly title: string;
  readonly at?: string;
  readonly kill: string;
  readonly blocks: readonly string[];
  readonly after: "end" | "cut" | "hold";
  readonly steps?: readonly ClientStep[];
  readonly messages?: readonly JsonMessage[];
  /** The plain stream that begins with the messages, where they are compared with what the client reports of it. */
  readonly plain?: readonly JsonMessage[];
  readonly error?: "violation" | "disconnected";
}

function streamCase(samples: Samples, name: string, play: Play): ClientCase {
  const { id, title, kill, blocks, after, steps = [], error } = play;
  return {
    id: `client/${name}/${id}`,
    side: "client",
    level: "must",
    title,
    at: play.at ?? `${samples.placeOf(name)}/answer/stream`,
    kill,
    async run(peer) {
      const plain = play.plain && (await readPlainly(samples, peer, name, play.plain));
      const told = await peer.call({ operation: name, input: samples.input(name), steps }, (exchange) =>
        send(samples, name, exchange, blocks, after),
      );
      // A client that leaves out a message of the plain stream may leave it out here too.
      const isWhole = !plain || plain.length === play.plain!.length;
      const expected = plain && isWhole ? plain.slice(0, play.messages!.length) : (plain ?? play.messages);
      if (expected) (after === "cut" || !isWhole ? meetFirst : meetMessages)(told, expected);
      meetError(told, error);
    },
  };
}

async function send(
  samples: Samples,
  name: string,
  exchange: Exchange,
  blocks: readonly string[],
  after: Play["after"],
): Promise<void> {
  beginStream(samples, name, exchange);
  // At once: where chunks end is the matter of the framing cases, and each write takes a pause.
  await exchange.write(blocks.join(""));
  if (after === "end") exchange.end();
  if (after === "cut") exchange.cut();
}

function last(
  samples: Samples,
  name: string,
): { readonly messages: JsonMessage[]; readonly blocks: string[]; readonly steps: ClientStep[] } {
  const { sentinel } = samples.contract.operations[name]!.answer.stream!;
  if (!samples.ends(name)) return { messages: [], blocks: [], steps: samples.leaving(name, 1) };
  const message = sentinel === undefined ? [samples.flow(name).at(-1)!] : [];
  const blocks = message.map((one) => samples.block(name, one));
  return { messages: message, blocks: sentinel === undefined ? blocks : [`data: ${sentinel}\n\n`], steps: [] };
}

function messages(samples: Samples, name: string): ClientCase[] {
  const over = last(samples, name);
  return samples.names(name, "server").flatMap((type) =>
    samples.said(name, "server", type).map(({ value, at, name: which }) => {
      const more = samples.isEnd(name, type) ? [] : over.blocks;
      return streamCase(samples, name, {
        id: `message/${type}/${which}`,
        title: `${name} delivers ${type} of ${at}`,
        at,
        kill: "alter-told",
        blocks: [samples.block(name, value), ...more],
        after: samples.ends(name) ? "end" : "hold",
        steps: over.steps,
        messages: samples.isEnd(name, type) ? [value] : [value, ...over.messages],
      });
    }),
  );
}

function ends(samples: Samples, name: string): ClientCase[] {
  const flow = samples.flow(name);
  const { end = [] } = samples.contract.operations[name]!.answer.stream!;
  const blocks = flow.map((message) => samples.block(name, message));
  const usual = flow.filter(({ type }) => !samples.isEnd(name, type));
  const cases = usual.flatMap((_, index) => {
    const some = {
      blocks: blocks.slice(0, index + 1),
      messages: usual.slice(0, index + 1),
      plain: flow,
      error: "disconnected",
      kill: "cut-as-end",
    } as const;
    const cut = streamCase(samples, name, {
      ...some,
      id: `cut/${index + 1}`,
      title: `${name} is disconnected by a cut after ${index + 1} messages`,
      after: "cut",
    });
    if (!samples.ends(name)) return [cut];
    return [
      cut,
      streamCase(samples, name, {
        ...some,
        id: `no-end/${index + 1}`,
        title: `${name} is disconnected when its body stops without an end after ${index + 1} messages`,
        after: "end",
      }),
    ];
  });
  const [first] = usual;
  if (first)
    cases.push(
      streamCase(samples, name, {
        id: "at-once",
        title: `${name} delivers a message when it comes, not at the end of the body`,
        kill: "buffer",
        blocks: blocks.slice(0, 1),
        after: "hold",
        steps: [{ receive: 1 }, { close: true }],
        messages: [first],
        plain: flow,
      }),
    );
  const over = flow.at(-1)!;
  if (end.includes(over.type) && first)
    cases.push(
      streamCase(samples, name, {
        id: "after-end",
        title: `${name} is over with ${over.type}: what follows is not delivered`,
        kill: "read-on",
        blocks: [samples.block(name, over) + samples.block(name, first)],
        after: "end",
        messages: [over],
        plain: [over],
      }),
    );
  return cases;
}

function unknown(samples: Samples, name: string): ClientCase[] {
  const body = unknownMessage(samples, name, "server");
  if (body === undefined) return [];
  const over = last(samples, name);
  const event = samples.contract.tag.in === "event" ? "event: parlance.unknown\n" : "";
  const block = `${event}data: ${JSON.stringify(body)}\n\n`;
  const [first] = samples.flow(name);
  const known = samples.isEnd(name, first!.type) ? [first!] : [first!, ...over.messages];
  const play: Play = {
    id: "unknown",
    title: `${name} goes on after a message that the contract does not define`,
    kill: "refuse-unknown",
    blocks: [block, samples.block(name, first!), ...(samples.isEnd(name, first!.type) ? [] : over.blocks)],
    after: samples.ends(name) ? "end" : "hold",
    steps: over.steps,
    messages: known,
    plain: known,
  };
  return [streamCase(samples, name, play)];
}

/** Events that are not messages, and answers that are not streams. */
function flaws(samples: Samples, name: string): ClientCase[] {
  const [type] = samples.names(name, "server");
  const malformed = violated(samples, name, {
    id: "malformed",
    title: `${name} is violated by a message that is not JSON`,
    kill: "lenient-answer",
    block: blockOf(samples, type, '{"'),
  });
  const { status } = samples.contract.operations[name]!.answer;
  return [
    malformed,
    {
      id: `client/${name}/other-type`,
      side: "client",
      level: "should",
      title: `${name} is violated by an answer that is a page instead of a stream`,
      at: `${samples.placeOf(name)}/answer/stream`,
      kill: "any-type",
      async run(peer) {
        const told = await peer.call({ operation: name, input: samples.input(name), steps: [] }, async (exchange) =>
          exchange.answer(status, "text/html", "<p>Log in</p>"),
        );
        meetError(told, "violation");
      },
    },
  ];
}

async function schemas(samples: Samples, lenient: Lenient, name: string): Promise<ClientCase[]> {
  const found = await messageMutants(samples, lenient, name, "server");
  return found.map((mutant) => {
    const block = blockOf(samples, mutant.type, JSON.stringify(mutant.value));
    return violated(samples, name, { ...aboutMutant(name, mutant), block });
  });
}

/** A block whose data may be no message. */
function blockOf({ contract: { tag } }: Samples, type: string | undefined, data: string): string {
  const event = tag.in === "event" || (tag.in === "property" && tag.event) ? `event: ${type}\n` : "";
  return `${event}data: ${data}\n\n`;
}

/** A stream with one block that a client must refuse. */
function violated(
  samples: Samples,
  name: string,
  { block, ...about }: Pick<Play, "id" | "title" | "at" | "kill"> & { readonly block: string },
): ClientCase {
  const { blocks, steps } = last(samples, name);
  const after = samples.ends(name) ? "end" : "hold";
  return streamCase(samples, name, { ...about, blocks: [block, ...blocks], after, steps, error: "violation" });
}
