import type { ClientCase } from "../case.js";
import type { Kit } from "../kit.js";
import { type Lenient, mutantsOf } from "../mutant.js";
import type { ClientStep, JsonMessage } from "../script.js";
import { unknownMessage } from "../server/channel-case.js";
import { isFlawed } from "../server/schemas.js";
import type { Exchange } from "../stage.js";
import { framingCases } from "./framing.js";
import { meetError, meetFirst, meetMessages, readPlainly } from "./read.js";

/** Streams: each message, framing, ends, missing ends, cuts at each step, unknown messages and those that break their schema. */
export async function streamCases(kit: Kit, lenient: Lenient): Promise<ClientCase[]> {
  const cases: ClientCase[] = [];
  for (const [name, { answer }] of Object.entries(kit.contract.operations)) {
    if (!answer.stream) continue;
    cases.push(...messages(kit, name), ...ends(kit, name), ...framingCases(kit, name), ...unknown(kit, name));
    cases.push(...flaws(kit, name), ...(await schemas(kit, lenient, name)));
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
  readonly script?: readonly ClientStep[];
  readonly messages?: readonly JsonMessage[];
  /** The plain stream that begins with the messages, where they are compared with what the client reports of it. */
  readonly plain?: readonly JsonMessage[];
  readonly error?: "violation" | "disconnected";
}

function streamCase(kit: Kit, name: string, play: Play): ClientCase {
  const { id, title, kill, blocks, after, script = [], error } = play;
  return {
    id: `client/${name}/${id}`,
    side: "client",
    level: "must",
    title,
    at: play.at ?? `${kit.placeOf(name)}/answer/stream`,
    kill,
    async run(stage) {
      const plain = play.plain && (await readPlainly(kit, stage, name, play.plain));
      const told = await stage.call({ operation: name, input: kit.input(name), script }, (exchange) =>
        send(kit, name, exchange, blocks, after),
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
  kit: Kit,
  name: string,
  exchange: Exchange,
  blocks: readonly string[],
  after: Play["after"],
): Promise<void> {
  exchange.begin(kit.contract.operations[name]!.answer.status, "text/event-stream");
  // At once: where chunks end is the matter of the framing cases, and each write takes a pause.
  await exchange.write(blocks.join(""));
  if (after === "end") exchange.end();
  if (after === "cut") exchange.cut();
}

function last(
  kit: Kit,
  name: string,
): { readonly messages: JsonMessage[]; readonly blocks: string[]; readonly script: ClientStep[] } {
  const { sentinel } = kit.contract.operations[name]!.answer.stream!;
  if (!kit.ends(name)) return { messages: [], blocks: [], script: [{ receive: 1 }, { close: true }] };
  const message = sentinel === undefined ? [kit.flow(name).at(-1)!] : [];
  const blocks = message.map((one) => kit.block(name, one));
  return { messages: message, blocks: sentinel === undefined ? blocks : [`data: ${sentinel}\n\n`], script: [] };
}

const isEnd = (kit: Kit, name: string, type: string): boolean => {
  const { end = [], mayEnd = [] } = kit.contract.operations[name]!.answer.stream!;
  return end.includes(type) || mayEnd.includes(type);
};

function messages(kit: Kit, name: string): ClientCase[] {
  const over = last(kit, name);
  return kit.names(name, "server").flatMap((type) =>
    kit.said(name, "server", type).map(({ value, at, name: which }) => {
      const more = isEnd(kit, name, type) ? [] : over.blocks;
      return streamCase(kit, name, {
        id: `message/${type}/${which}`,
        title: `${name} delivers ${type} of ${at}`,
        at,
        kill: "alter-told",
        blocks: [kit.block(name, value), ...more],
        after: kit.ends(name) ? "end" : "hold",
        script: over.script,
        messages: isEnd(kit, name, type) ? [value] : [value, ...over.messages],
      });
    }),
  );
}

function ends(kit: Kit, name: string): ClientCase[] {
  const flow = kit.flow(name);
  const { end = [] } = kit.contract.operations[name]!.answer.stream!;
  const blocks = flow.map((message) => kit.block(name, message));
  const usual = flow.filter(({ type }) => !isEnd(kit, name, type));
  const cases = usual.flatMap((_, index) => {
    const some = {
      blocks: blocks.slice(0, index + 1),
      messages: usual.slice(0, index + 1),
      plain: flow,
      error: "disconnected",
      kill: "cut-as-end",
    } as const;
    const cut = streamCase(kit, name, {
      ...some,
      id: `cut/${index + 1}`,
      title: `${name} is disconnected by a cut after ${index + 1} messages`,
      after: "cut",
    });
    if (!kit.ends(name)) return [cut];
    return [
      cut,
      streamCase(kit, name, {
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
      streamCase(kit, name, {
        id: "at-once",
        title: `${name} delivers a message when it comes, not at the end of the body`,
        kill: "buffer",
        blocks: blocks.slice(0, 1),
        after: "hold",
        script: [{ receive: 1 }, { close: true }],
        messages: [first],
        plain: flow,
      }),
    );
  const over = flow.at(-1)!;
  if (end.includes(over.type) && first)
    cases.push(
      streamCase(kit, name, {
        id: "after-end",
        title: `${name} is over with ${over.type}: what follows is not delivered`,
        kill: "read-on",
        blocks: [kit.block(name, over) + kit.block(name, first)],
        after: "end",
        messages: [over],
        plain: [over],
      }),
    );
  return cases;
}

function unknown(kit: Kit, name: string): ClientCase[] {
  const body = unknownMessage(kit, name, "server");
  if (body === undefined) return [];
  const over = last(kit, name);
  const event = kit.contract.tag.in === "event" ? "event: parlance.unknown\n" : "";
  const block = `${event}data: ${JSON.stringify(body)}\n\n`;
  const [first] = kit.flow(name);
  const known = isEnd(kit, name, first!.type) ? [first!] : [first!, ...over.messages];
  const play: Play = {
    id: "unknown",
    title: `${name} goes on after a message that the contract does not define`,
    kill: "refuse-unknown",
    blocks: [block, kit.block(name, first!), ...(isEnd(kit, name, first!.type) ? [] : over.blocks)],
    after: kit.ends(name) ? "end" : "hold",
    script: over.script,
    messages: known,
    plain: known,
  };
  return [streamCase(kit, name, play)];
}

/** What is no message, and no stream. */
function flaws(kit: Kit, name: string): ClientCase[] {
  const over = last(kit, name);
  const { tag } = kit.contract;
  const [type] = kit.names(name, "server");
  const event = tag.in === "event" || (tag.in === "property" && tag.event) ? `event: ${type}\n` : "";
  const malformed = streamCase(kit, name, {
    id: "malformed",
    title: `${name} is violated by a message that is not JSON`,
    kill: "lenient-answer",
    blocks: [`${event}data: {"\n\n`, ...over.blocks],
    after: kit.ends(name) ? "end" : "hold",
    script: over.script,
    error: "violation",
  });
  const { status } = kit.contract.operations[name]!.answer;
  return [
    malformed,
    {
      id: `client/${name}/other-type`,
      side: "client",
      level: "should",
      title: `${name} is violated by an answer that is a page instead of a stream`,
      at: `${kit.placeOf(name)}/answer/stream`,
      kill: "any-type",
      async run(stage) {
        const told = await stage.call({ operation: name, input: kit.input(name), script: [] }, async (exchange) =>
          exchange.answer(status, "text/html", "<p>Log in</p>"),
        );
        meetError(told, "violation");
      },
    },
  ];
}

async function schemas(kit: Kit, lenient: Lenient, name: string): Promise<ClientCase[]> {
  const cases: ClientCase[] = [];
  const over = last(kit, name);
  for (const type of kit.names(name, "server")) {
    const title = kit.contract.messages[type]!.schema;
    const examples = kit.examples(title).map(({ value }) => value);
    const found = await mutantsOf(kit, title, examples, lenient, (one, value) =>
      isFlawed(one, name, "server", type, value),
    );
    const { tag } = kit.contract;
    const event = tag.in === "event" || (tag.in === "property" && tag.event) ? `event: ${type}\n` : "";
    for (const { value, keyword, at, name: which } of found)
      cases.push(
        streamCase(kit, name, {
          id: `schema/${which}`,
          title: `${name} is violated by a message that breaks ${keyword} at ${at}`,
          at,
          kill: `keyword:${keyword}`,
          blocks: [`${event}data: ${JSON.stringify(value)}\n\n`, ...over.blocks],
          after: kit.ends(name) ? "end" : "hold",
          script: over.script,
          error: "violation",
        }),
      );
  }
  return cases;
}
