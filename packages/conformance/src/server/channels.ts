import { meet, type ServerCase } from "../case.js";
import type { Kit } from "../kit.js";
import type { ServerStep } from "../script.js";
import { about, after, meetReceived, on } from "./channel-case.js";
import { frameCases } from "./frames.js";
import { success } from "./operations.js";
import { isFaultOf, meetMessage, meetRefusal, openSocket, shown } from "./read.js";

/** Channels: each message in both directions, the opening, frames, closes. */
export function channelCases(kit: Kit): ServerCase[] {
  return Object.keys(kit.contract.channels).flatMap((name) => [
    ...sent(kit, name),
    ...received(kit, name),
    ...frameCases(kit, name),
    ...closes(kit, name),
    ...opening(kit, name),
  ]);
}

function sent(kit: Kit, name: string): ServerCase[] {
  const first = kit.contract.channels[name]!.open?.server;
  return kit.names(name, "server").flatMap((type) =>
    kit.said(name, "server", type).map(({ value, at, name: which }): ServerCase => {
      const isFirst = type === first;
      const { client } = kit.opening(name);
      const steps: ServerStep[] = [...client.map((one) => ({ receive: one.type })), { send: value }, { hold: true }];
      return {
        ...about(kit, name, `message/${type}/${which}`),
        title: `${name} sends ${type} as its handler gave it`,
        at,
        kill: "alter-message",
        script: [isFirst ? { call: name, steps } : after(kit, name, [{ send: value }, { hold: true }])],
        async run(stage) {
          if (!isFirst) return on(kit, stage, name, (frames) => meetMessage(kit, name, frames, value));
          const frames = await openSocket(kit, stage, name);
          try {
            for (const message of client) frames.send(kit.frame(name, "client", message));
            await meetMessage(kit, name, frames, value);
          } finally {
            frames.cut();
          }
        },
      };
    }),
  );
}

function received(kit: Kit, name: string): ServerCase[] {
  const first = kit.contract.channels[name]!.open?.client;
  return kit.names(name, "client").flatMap((type) =>
    kit.said(name, "client", type).flatMap(({ value, at, name: which }): ServerCase[] => {
      if (type === first && which !== "0") return [];
      return [
        {
          ...about(kit, name, `input/${type}/${which}`),
          title: `the handler of ${name} gets ${type} as it was sent`,
          at,
          kill: "alter-received",
          script: [type === first ? success(kit, name) : after(kit, name, [{ receive: type }, { hold: true }])],
          run: (stage) =>
            on(kit, stage, name, async (frames) => {
              if (type !== first) frames.send(kit.frame(name, "client", value));
              await meetReceived(stage, name, value);
            }),
        },
      ];
    }),
  );
}

function closes(kit: Kit, name: string): ServerCase[] {
  return [
    {
      ...about(kit, name, "close"),
      title: `${name} confirms the client's close`,
      kill: "no-close",
      script: [success(kit, name)],
      run: (stage) =>
        on(kit, stage, name, async (frames) => {
          frames.close(1000);
          let frame = await frames.next();
          while (!("close" in frame)) frame = await frames.next();
          meet(frame.close !== 1006, "a close frame", "a lost connection");
        }),
    },
    {
      ...about(kit, name, "end"),
      title: `${name} closes with 1000 when its handler is done`,
      kill: "wrong-close",
      script: [after(kit, name, [])],
      run: (stage) =>
        on(kit, stage, name, async (frames) => {
          let frame = await frames.next();
          while (!("close" in frame)) frame = await frames.next();
          meet(frame.close === 1000, "a close with 1000", shown(frame));
        }),
    },
    ...once(kit, name),
  ];
}

/** Each message once: a channel has no end that would show what is sent behind it. */
function once(kit: Kit, name: string): ServerCase[] {
  const { open } = kit.contract.channels[name]!;
  const flow = kit
    .names(name, "server")
    .filter((type) => type !== open?.server && !isFaultOf(kit, name, type))
    .flatMap((type) => kit.example(name, "server", type) ?? []);
  if (flow.length === 0) return [];
  return [
    {
      ...about(kit, name, "once"),
      title: `${name} sends the messages of its handler once, and no others`,
      kill: "send-twice",
      script: [
        after(
          kit,
          name,
          flow.map((send) => ({ send })),
        ),
      ],
      run: (stage) =>
        on(kit, stage, name, async (frames) => {
          for (const message of flow) await meetMessage(kit, name, frames, message);
          for (let frame = await frames.next(); !("close" in frame); frame = await frames.next())
            meet(!("text" in frame), `nothing after ${flow.at(-1)!.type}`, shown(frame));
        }),
    },
  ];
}

function opening(kit: Kit, name: string): ServerCase[] {
  const { open, client } = kit.contract.channels[name]!;
  const other = client.find((type) => type !== open?.client);
  const message = other === undefined ? undefined : kit.example(name, "client", other);
  if (open?.client === undefined || !message) return [];
  return [
    {
      ...about(kit, name, "opening"),
      title: `${name} refuses a first message that is not ${open.client}`,
      at: `${kit.placeOf(name)}/open/client`,
      kill: "any-opening",
      script: [success(kit, name)],
      async run(stage) {
        const frames = await openSocket(kit, stage, name);
        try {
          frames.send(kit.frame(name, "client", message));
          await meetRefusal(kit, name, frames, `${message.type} as the first message`);
        } finally {
          frames.cut();
        }
      },
    },
  ];
}
