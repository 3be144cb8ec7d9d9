import { meet, type ServerCase } from "../case.js";
import type { Samples } from "../samples.js";
import type { ServerStep } from "../steps.js";
import { about, after, meetReceived, on } from "./channel-case.js";
import { frameCases } from "./frames.js";
import { success } from "./operations.js";
import { isFaultOf, meetMessage, meetRefusal, openSocket, shown } from "./read.js";

/** Channels: each message in both directions, the opening, frames, closes. */
export function channelCases(samples: Samples): ServerCase[] {
  return Object.keys(samples.contract.channels).flatMap((name) => [
    ...sent(samples, name),
    ...received(samples, name),
    ...frameCases(samples, name),
    ...closes(samples, name),
    ...opening(samples, name),
  ]);
}

function sent(samples: Samples, name: string): ServerCase[] {
  const first = samples.contract.channels[name]!.open?.server;
  return samples.names(name, "server").flatMap((type) =>
    samples.said(name, "server", type).map(({ value, at, name: which }): ServerCase => {
      const isFirst = type === first;
      const { client } = samples.opening(name);
      const steps: ServerStep[] = [...client.map((one) => ({ receive: one.type })), { send: value }, { hold: true }];
      return {
        ...about(samples, name, `message/${type}/${which}`),
        title: `${name} sends ${type} as its handler gave it`,
        at,
        kill: "alter-message",
        acts: [isFirst ? { call: name, steps } : after(samples, name, [{ send: value }, { hold: true }])],
        async run(peer) {
          if (!isFirst) return on(samples, peer, name, (frames) => meetMessage(samples, name, frames, value));
          const frames = await openSocket(samples, peer, name);
          try {
            for (const message of client) frames.send(samples.frame(name, "client", message));
            await meetMessage(samples, name, frames, value);
          } finally {
            frames.cut();
          }
        },
      };
    }),
  );
}

function received(samples: Samples, name: string): ServerCase[] {
  const first = samples.contract.channels[name]!.open?.client;
  return samples.names(name, "client").flatMap((type) =>
    samples.said(name, "client", type).flatMap(({ value, at, name: which }): ServerCase[] => {
      if (type === first && which !== "0") return [];
      return [
        {
          ...about(samples, name, `input/${type}/${which}`),
          title: `the handler of ${name} gets ${type} as it was sent`,
          at,
          kill: "alter-received",
          acts: [type === first ? success(samples, name) : after(samples, name, [{ receive: type }, { hold: true }])],
          run: (peer) =>
            on(samples, peer, name, async (frames) => {
              if (type !== first) frames.send(samples.frame(name, "client", value));
              await meetReceived(peer, name, value);
            }),
        },
      ];
    }),
  );
}

function closes(samples: Samples, name: string): ServerCase[] {
  return [
    {
      ...about(samples, name, "close"),
      title: `${name} confirms the client's close`,
      kill: "no-close",
      acts: [success(samples, name)],
      run: (peer) =>
        on(samples, peer, name, async (frames) => {
          frames.close(1000);
          let frame = await frames.next();
          while (!("close" in frame)) frame = await frames.next();
          meet(frame.close !== 1006, "a close frame", "a lost connection");
        }),
    },
    {
      ...about(samples, name, "end"),
      title: `${name} closes with 1000 when its handler is done`,
      kill: "wrong-close",
      acts: [after(samples, name, [])],
      run: (peer) =>
        on(samples, peer, name, async (frames) => {
          let frame = await frames.next();
          while (!("close" in frame)) frame = await frames.next();
          meet(frame.close === 1000, "a close with 1000", shown(frame));
        }),
    },
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
  return [
    {
      ...about(samples, name, "once"),
      title: `${name} sends the messages of its handler once, and no others`,
      kill: "send-twice",
      acts: [
        after(
          samples,
          name,
          flow.map((send) => ({ send })),
        ),
      ],
      run: (peer) =>
        on(samples, peer, name, async (frames) => {
          for (const message of flow) await meetMessage(samples, name, frames, message);
          for (let frame = await frames.next(); !("close" in frame); frame = await frames.next())
            meet(!("text" in frame), `nothing after ${flow.at(-1)!.type}`, shown(frame));
        }),
    },
  ];
}

function opening(samples: Samples, name: string): ServerCase[] {
  const { open, client } = samples.contract.channels[name]!;
  const other = client.find((type) => type !== open?.client);
  const message = other === undefined ? undefined : samples.example(name, "client", other);
  if (open?.client === undefined || !message) return [];
  return [
    {
      ...about(samples, name, "opening"),
      title: `${name} refuses a first message that is not ${open.client}`,
      at: `${samples.placeOf(name)}/open/client`,
      kill: "any-opening",
      acts: [success(samples, name)],
      async run(peer) {
        const frames = await openSocket(samples, peer, name);
        try {
          frames.send(samples.frame(name, "client", message));
          await meetRefusal(samples, name, frames, `${message.type} as the first message`);
        } finally {
          frames.cut();
        }
      },
    },
  ];
}
