import { type ClientCase, meet } from "../case.js";
import type { Kit } from "../kit.js";
import { type Lenient, mutantsOf } from "../mutant.js";
import type { ClientStep, JsonMessage } from "../script.js";
import { unknownMessage } from "../server/channel-case.js";
import { isFlawed } from "../server/schemas.js";
import type { Exchange, Frames } from "../stage.js";
import { accepting, meetError, meetHeard, meetMessages, openUp } from "./read.js";

const TEXT = 1;
const CONTINUED = 0;
const PING = 9;

/** Channels: each message in both directions, frames, closes, cuts at each step, and asks. */
export async function channelCases(kit: Kit, lenient: Lenient): Promise<ClientCase[]> {
  const cases: ClientCase[] = [];
  for (const name of Object.keys(kit.contract.channels)) {
    cases.push(
      ...delivered(kit, name),
      ...sent(kit, name),
      ...frames(kit, name),
      ...ends(kit, name),
      ...asks(kit, name),
    );
    cases.push(...(await schemas(kit, lenient, name)));
  }
  return cases;
}

interface Play {
  readonly id: string;
  readonly title: string;
  readonly at?: string;
  readonly kill: string;
  /** After the opening. */
  readonly serve: (frames: Frames, exchange: Exchange) => Promise<void>;
  readonly script?: readonly ClientStep[];
  readonly messages?: readonly JsonMessage[];
  readonly error?: "violation" | "disconnected";
}

function channelCase(kit: Kit, name: string, play: Play): ClientCase {
  const { client, server } = kit.opening(name);
  const opening: ClientStep[] = client.map((send) => ({ send }));
  return {
    id: `client/${name}/${play.id}`,
    side: "client",
    level: "must",
    title: play.title,
    at: play.at ?? kit.placeOf(name),
    kill: play.kill,
    async run(stage) {
      const call = { operation: name, input: kit.input(name), script: [...opening, ...(play.script ?? [])] };
      const told = await stage.call(
        call,
        accepting(kit, name, async (frames, exchange) => {
          await openUp(kit, name, frames);
          await play.serve(frames, exchange);
        }),
      );
      if (play.messages) meetMessages(told, [...server, ...play.messages]);
      meetError(told, play.error);
    },
  };
}

/** Waits for messages after the opening and closes. */
function receiving(kit: Kit, name: string, count: number): ClientStep[] {
  return [{ receive: kit.opening(name).server.length + count }, { close: true }];
}

function delivered(kit: Kit, name: string): ClientCase[] {
  const { open } = kit.contract.channels[name]!;
  return kit.names(name, "server").flatMap((type) =>
    kit.said(name, "server", type).flatMap(({ value, at, name: which }) => {
      if (type === open?.server) return [];
      return channelCase(kit, name, {
        id: `message/${type}/${which}`,
        title: `${name} delivers ${type} of ${at}`,
        at,
        kill: "alter-told",
        serve: async (frames) => frames.send(kit.frame(name, "server", value)),
        script: receiving(kit, name, 1),
        messages: [value],
      });
    }),
  );
}

function sent(kit: Kit, name: string): ClientCase[] {
  const { open } = kit.contract.channels[name]!;
  return kit.names(name, "client").flatMap((type) =>
    kit.said(name, "client", type).flatMap(({ value, at, name: which }) => {
      if (type === open?.client) return [];
      return channelCase(kit, name, {
        id: `input/${type}/${which}`,
        title: `${name} sends ${type} of ${at}`,
        at,
        kill: "alter-sent",
        async serve(frames) {
          await meetHeard(kit, name, frames, value);
          frames.close(1000);
        },
        script: [{ send: value }],
      });
    }),
  );
}

/** A message of the server that answers nothing. */
function usual(kit: Kit, name: string): JsonMessage {
  const { open, fault } = kit.contract.channels[name]!;
  const answers = (kit.contract.exchanges ?? []).flatMap((one) => one.answers.map(({ message }) => message));
  const types = kit.names(name, "server").filter((type) => type !== fault);
  const type = types.find((one) => one !== open?.server && !answers.includes(one)) ?? types.at(-1)!;
  return kit.example(name, "server", type)!;
}

function frames(kit: Kit, name: string): ClientCase[] {
  const message = usual(kit, name);
  const text = kit.frame(name, "server", message);
  const third = Math.ceil(text.length / 3);
  const unknown = unknownMessage(kit, name, "server");
  const reads = (id: string, title: string, kill: string, serve: Play["serve"]) =>
    channelCase(kit, name, {
      id,
      title: `${name} ${title}`,
      kill,
      serve,
      script: receiving(kit, name, 1),
      messages: [message],
    });
  return [
    reads(
      "fragments",
      "reads a message in three fragments with a ping between them",
      "no-fragments",
      async (frames) => {
        frames.frame(TEXT, text.slice(0, third), false);
        frames.frame(CONTINUED, text.slice(third, 2 * third), false);
        frames.frame(PING, "between");
        frames.frame(CONTINUED, text.slice(2 * third), true);
      },
    ),
    ...(unknown === undefined
      ? []
      : [
          reads(
            "unknown",
            "goes on after a message that the contract does not define",
            "refuse-unknown",
            async (frames) => {
              frames.send(JSON.stringify(unknown));
              frames.send(text);
            },
          ),
        ]),
    channelCase(kit, name, {
      id: "ping",
      title: `${name} answers a ping with a pong of the same text`,
      kill: "no-pong",
      async serve(frames) {
        frames.frame(PING, "parlance");
        let frame = await frames.next();
        while ("text" in frame) frame = await frames.next();
        meet("pong" in frame && frame.pong === "parlance", "a pong with parlance", frame);
        frames.close(1000);
      },
    }),
    channelCase(kit, name, {
      id: "malformed",
      title: `${name} is violated by a frame that is not JSON`,
      kill: "lenient-answer",
      serve: async (frames) => frames.send('{"'),
      error: "violation",
    }),
  ];
}

function ends(kit: Kit, name: string): ClientCase[] {
  const message = usual(kit, name);
  const send = (frames: Frames) => frames.send(kit.frame(name, "server", message));
  const cuts = [0, 1, 2].map((count) =>
    channelCase(kit, name, {
      id: `cut/${count}`,
      title: `${name} is disconnected by a cut after ${count} messages`,
      kill: "cut-as-end",
      async serve(frames) {
        for (let index = 0; index < count; index++) send(frames);
        // The messages are on their way before the connection is lost.
        await new Promise((resolve) => setImmediate(resolve));
        frames.cut();
      },
      messages: Array.from({ length: count }, () => message),
      error: "disconnected",
    }),
  );
  return [
    ...cuts,
    channelCase(kit, name, {
      id: "close",
      title: `${name} is over when the server closes with 1000`,
      kill: "end-as-cut",
      async serve(frames) {
        send(frames);
        frames.close(1000);
      },
      messages: [message],
    }),
    channelCase(kit, name, {
      id: "failed",
      title: `${name} is disconnected when the server closes with 1011`,
      kill: "cut-as-end",
      serve: async (frames) => frames.close(1011),
      error: "disconnected",
    }),
  ];
}

/** Asks of the client: an answer that belongs to its ask. */
function asks(kit: Kit, name: string): ClientCase[] {
  return (kit.contract.exchanges ?? []).flatMap(({ ask, by, key, answers }, index) => {
    const question = kit.example(name, "client", ask);
    const [reply] = answers;
    const answer = reply?.message === undefined ? undefined : kit.said(name, "server", reply.message)[0]?.value;
    if (by !== "client" || !question || !answer || !kit.names(name, "client").includes(ask)) return [];
    const own = key === undefined ? {} : { [reply!.key ?? key]: question[key]! };
    const replying = { ...answer, ...own } as JsonMessage;
    return channelCase(kit, name, {
      id: `ask/${ask}`,
      title: `${ask} is answered with ${replying.type}`,
      at: `contract.json#/exchanges/${index}`,
      kill: "alter-told",
      async serve(frames) {
        await meetHeard(kit, name, frames, question);
        frames.send(kit.frame(name, "server", replying));
        frames.close(1000);
      },
      script: [{ ask: question }],
      messages: [replying],
    });
  });
}

async function schemas(kit: Kit, lenient: Lenient, name: string): Promise<ClientCase[]> {
  const cases: ClientCase[] = [];
  for (const type of kit.names(name, "server")) {
    const title = kit.contract.messages[type]!.schema;
    const examples = kit.examples(title).map(({ value }) => value);
    const found = await mutantsOf(kit, title, examples, lenient, (one, value) =>
      isFlawed(one, name, "server", type, value),
    );
    for (const { value, keyword, at, name: which } of found)
      cases.push(
        channelCase(kit, name, {
          id: `schema/${which}`,
          title: `${name} is violated by a message that breaks ${keyword} at ${at}`,
          at,
          kill: `keyword:${keyword}`,
          async serve(frames) {
            frames.send(JSON.stringify(value));
            frames.close(1000);
          },
          error: "violation",
        }),
      );
  }
  return cases;
}
