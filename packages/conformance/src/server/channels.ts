import { meet, type ServerCase } from "../case.js";
import type { Samples } from "../samples.js";
import type { ServerStep } from "../steps.js";
import type { Frames } from "../tested.js";
import { after, channelCase, meetReceived } from "./channel-case.js";
import { frameCases } from "./frames.js";
import { methodCases } from "./methods.js";
import { success } from "./operations.js";
import { isFaultOf, meetMessage, meetRefusal, shown } from "./read.js";

/** Channels: each message in both directions, the opening, frames, closes. */
export function channelCases(samples: Samples): ServerCase[] {
  return Object.keys(samples.contract.channels).flatMap((name) =>
    samples.contract.methods
      ? [...methodCases(samples, name), ...frameCases(samples, name), closed(samples, name)]
      : [
          ...sent(samples, name),
          ...received(samples, name),
          ...frameCases(samples, name),
          ...closes(samples, name),
          ...opening(samples, name),
        ],
  );
}

function sent(samples: Samples, name: string): ServerCase[] {
  const first = samples.contract.channels[name]!.open?.server;
  const { client } = samples.opening(name);
  return samples.names(name, "server").flatMap((type) =>
    samples.said(name, "server", type).map(({ value, at, name: which }) => {
      const isOpening = type === first;
      const steps: ServerStep[] = [{ send: value }, { hold: true }];
      const received = client.map((one): ServerStep => ({ receive: one.type }));
      return channelCase(samples, name, {
        id: `message/${type}/${which}`,
        title: `${name} sends ${type} as its handler gave it`,
        at,
        kill: "alter-message",
        act: isOpening ? { call: name, steps: [...received, ...steps] } : after(samples, name, steps),
        isOpening,
        async talk(frames) {
          if (isOpening) for (const message of client) frames.send(samples.frame(name, "client", message));
          await meetMessage(samples, name, frames, value);
        },
      });
    }),
  );
}

function received(samples: Samples, name: string): ServerCase[] {
  const first = samples.contract.channels[name]!.open?.client;
  return samples.names(name, "client").flatMap((type) =>
    samples.said(name, "client", type).flatMap(({ value, at, name: which }) => {
      if (type === first && which !== "0") return [];
      return channelCase(samples, name, {
        id: `input/${type}/${which}`,
        title: `the handler of ${name} gets ${type} as it was sent`,
        at,
        kill: "alter-received",
        act: type === first ? success(samples, name) : after(samples, name, [{ receive: type }, { hold: true }]),
        async talk(frames, peer) {
          if (type !== first) frames.send(samples.frame(name, "client", value));
          await meetReceived(peer, name, value);
        },
      });
    }),
  );
}

/** The code of the close that the server sends next. */
async function closeCode(frames: Frames): Promise<number> {
  let frame = await frames.next();
  while (!("close" in frame)) frame = await frames.next();
  return frame.close;
}

function closed(samples: Samples, name: string): ServerCase {
  return channelCase(samples, name, {
    id: "close",
    title: `${name} confirms the client's close`,
    kill: "no-close",
    act: success(samples, name),
    async talk(frames) {
      frames.close(1000);
      meet((await closeCode(frames)) !== 1006, "a close frame", "a lost connection");
    },
  });
}

function closes(samples: Samples, name: string): ServerCase[] {
  return [
    closed(samples, name),
    channelCase(samples, name, {
      id: "end",
      title: `${name} closes with 1000 when its handler is done`,
      kill: "wrong-close",
      act: after(samples, name, []),
      async talk(frames) {
        const close = await closeCode(frames);
        meet(close === 1000, "a close with 1000", shown({ close }));
      },
    }),
    ...once(samples, name),
  ];
}

/** Each message once: a channel has no end that would show what is sent behind it. */
function once(samples: Samples, name: string): ServerCase[] {
  const { open } = samples.contract.channels[name]!;
  const flow = samples
    .names(name, "server")
    .filter((type) => type !== open?.server && !isFaultOf(samples, name, type))
    .flatMap((type) => samples.example(name, "server", type) ?? []);
  if (flow.length === 0) return [];
  const steps = flow.map((send) => ({ send }));
  return [
    channelCase(samples, name, {
      id: "once",
      title: `${name} sends the messages of its handler once, and no others`,
      kill: "send-twice",
      act: after(samples, name, steps),
      async talk(frames) {
        for (const message of flow) await meetMessage(samples, name, frames, message);
        for (let frame = await frames.next(); !("close" in frame); frame = await frames.next())
          meet(!("text" in frame), `nothing after ${flow.at(-1)!.type}`, shown(frame));
      },
    }),
  ];
}

function opening(samples: Samples, name: string): ServerCase[] {
  const { open, client } = samples.contract.channels[name]!;
  const other = client.find((type) => type !== open?.client);
  const message = other === undefined ? undefined : samples.example(name, "client", other);
  if (open?.client === undefined || !message) return [];
  return [
    channelCase(samples, name, {
      id: "opening",
      title: `${name} refuses a first message that is not ${open.client}`,
      at: `${samples.placeOf(name)}/open/client`,
      kill: "any-opening",
      act: success(samples, name),
      isOpening: true,
      async talk(frames) {
        frames.send(samples.frame(name, "client", message));
        await meetRefusal(samples, name, frames, `${message.type} as the first message`);
      },
    }),
  ];
}
