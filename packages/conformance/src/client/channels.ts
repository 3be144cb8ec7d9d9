import { keyPath, valueAt, withValue } from "@parlance/wire/internal/pointer";
import { type ClientCase, meet } from "../case.js";
import { type Lenient, messageMutants } from "../mutant.js";
import type { Samples } from "../samples.js";
import { unknownMessage, usual } from "../server/channel-case.js";
import { PING, sendFragments } from "../server/frames.js";
import type { ClientStep, JsonMessage } from "../steps.js";
import type { Exchange, Frames } from "../tested.js";
import { methodCases } from "./methods.js";
import { aboutMutant, accepting, meetError, meetHeard, meetMessages, openUp } from "./read.js";

/** Channels: each message in both directions, frames, closes, cuts at each step, and asks. */
export async function channelCases(samples: Samples, lenient: Lenient): Promise<ClientCase[]> {
  const cases: ClientCase[] = [];
  for (const name of Object.keys(samples.contract.channels)) {
    if (samples.contract.methods) {
      cases.push(...(await methodCases(samples, lenient, name)), ...frames(samples, name), ...ends(samples, name));
      continue;
    }
    cases.push(
      ...delivered(samples, name),
      ...sent(samples, name),
      ...frames(samples, name),
      ...ends(samples, name),
      ...asks(samples, name),
    );
    cases.push(...(await schemas(samples, lenient, name)));
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
  readonly steps?: readonly ClientStep[];
  readonly messages?: readonly JsonMessage[];
  readonly error?: "violation" | "disconnected";
}

function channelCase(samples: Samples, name: string, play: Play): ClientCase {
  const { client, server } = samples.opening(name);
  const opening: ClientStep[] = client.map((send) => ({ send }));
  return {
    id: `client/${name}/${play.id}`,
    side: "client",
    level: "must",
    title: play.title,
    at: play.at ?? samples.placeOf(name),
    kill: play.kill,
    async run(peer) {
      const call = { operation: name, input: samples.input(name), steps: [...opening, ...(play.steps ?? [])] };
      const told = await peer.call(
        call,
        accepting(samples, name, async (frames, exchange) => {
          await openUp(samples, name, frames);
          await play.serve(frames, exchange);
        }),
      );
      if (play.messages) meetMessages(told, [...server, ...play.messages]);
      meetError(told, play.error);
    },
  };
}

/** Waits for messages after the opening and closes. */
function receiving(samples: Samples, name: string, count: number): ClientStep[] {
  return [{ receive: samples.opening(name).server.length + count }, { close: true }];
}

function delivered(samples: Samples, name: string): ClientCase[] {
  const { open } = samples.contract.channels[name]!;
  return samples.names(name, "server").flatMap((type) =>
    samples.said(name, "server", type).flatMap(({ value, at, name: which }) => {
      if (type === open?.server) return [];
      return channelCase(samples, name, {
        id: `message/${type}/${which}`,
        title: `${name} delivers ${type} of ${at}`,
        at,
        kill: "alter-told",
        serve: async (frames) => frames.send(samples.frame(name, "server", value)),
        steps: receiving(samples, name, 1),
        messages: [value],
      });
    }),
  );
}

function sent(samples: Samples, name: string): ClientCase[] {
  const { open } = samples.contract.channels[name]!;
  return samples.names(name, "client").flatMap((type) =>
    samples.said(name, "client", type).flatMap(({ value, at, name: which }) => {
      if (type === open?.client) return [];
      return channelCase(samples, name, {
        id: `input/${type}/${which}`,
        title: `${name} sends ${type} of ${at}`,
        at,
        kill: "alter-sent",
        async serve(frames) {
          await meetHeard(samples, name, frames, value);
          frames.close(1000);
        },
        steps: [{ send: value }],
      });
    }),
  );
}

function frames(samples: Samples, name: string): ClientCase[] {
  const message = usual(samples, name, "server");
  const text = samples.frame(name, "server", message);
  const unknown = unknownMessage(samples, name, "server");
  const reads = (id: string, title: string, kill: string, serve: Play["serve"]) =>
    channelCase(samples, name, {
      id,
      title: `${name} ${title}`,
      kill,
      serve,
      steps: receiving(samples, name, 1),
      messages: [message],
    });
  return [
    reads("fragments", "reads a message in three fragments with a ping between them", "no-fragments", async (frames) =>
      sendFragments(frames, text),
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
    channelCase(samples, name, {
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
    ...(samples.contract.methods ? [] : [malformed(samples, name)]),
  ];
}

/** With methods, a bad frame is answered instead. */
function malformed(samples: Samples, name: string): ClientCase {
  return channelCase(samples, name, {
    id: "malformed",
    title: `${name} is violated by a frame that is not JSON`,
    kill: "lenient-answer",
    serve: async (frames) => frames.send('{"'),
    error: "violation",
  });
}

function ends(samples: Samples, name: string): ClientCase[] {
  const message = usual(samples, name, "server");
  const send = (frames: Frames) => frames.send(samples.frame(name, "server", message));
  const cuts = [0, 1, 2].map((count) =>
    channelCase(samples, name, {
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
    channelCase(samples, name, {
      id: "close",
      title: `${name} is over when the server closes with 1000`,
      kill: "end-as-cut",
      async serve(frames) {
        send(frames);
        frames.close(1000);
      },
      messages: [message],
    }),
    channelCase(samples, name, {
      id: "failed",
      title: `${name} is disconnected when the server closes with 1011`,
      kill: "cut-as-end",
      serve: async (frames) => frames.close(1011),
      error: "disconnected",
    }),
  ];
}

/** Asks of the client: an answer that belongs to its ask. */
function asks(samples: Samples, name: string): ClientCase[] {
  return (samples.contract.exchanges ?? []).flatMap(({ ask, by, key, answers }, index) => {
    const question = samples.example(name, "client", ask);
    const [reply] = answers;
    const answer = reply?.message === undefined ? undefined : samples.said(name, "server", reply.message)[0]?.value;
    if (by !== "client" || !question || !answer || !samples.names(name, "client").includes(ask)) return [];
    const place = key && keyPath(reply!.key ?? key);
    const own = place ? withValue(answer, place, valueAt(question, keyPath(key!))) : answer;
    const replying = own as JsonMessage;
    return channelCase(samples, name, {
      id: `ask/${ask}`,
      title: `${ask} is answered with ${replying.type}`,
      at: `contract.json#/exchanges/${index}`,
      kill: "alter-told",
      async serve(frames) {
        await meetHeard(samples, name, frames, question);
        frames.send(samples.frame(name, "server", replying));
        frames.close(1000);
      },
      steps: [{ ask: question }],
      messages: [replying],
    });
  });
}

async function schemas(samples: Samples, lenient: Lenient, name: string): Promise<ClientCase[]> {
  const found = await messageMutants(samples, lenient, name, "server");
  return found.map((mutant) =>
    channelCase(samples, name, {
      ...aboutMutant(name, mutant),
      async serve(frames) {
        frames.send(JSON.stringify(mutant.value));
        frames.close(1000);
      },
      error: "violation",
    }),
  );
}
