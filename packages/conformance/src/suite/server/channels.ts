import { alike } from "../alike.js";
import { meet, type ServerCase, Unmet } from "../case.js";
import type { Kit } from "../kit.js";
import type { Act, JsonMessage, ServerStep } from "../script.js";
import type { Frame, Frames, ServerStage } from "../stage.js";
import { success } from "./operations.js";
import { isFaultOf, meetMessage, meetRefusal, openChannel, openSocket, shown } from "./read.js";

const TEXT = 1;
const CONTINUED = 0;
const BINARY = 2;
const PING = 9;

/** Channels: each message in both directions, the opening, frames, closes. */
export function channelCases(kit: Kit): ServerCase[] {
  return Object.keys(kit.contract.channels).flatMap((name) => [
    ...sent(kit, name),
    ...received(kit, name),
    ...frames(kit, name),
    ...closes(kit, name),
    ...opening(kit, name),
  ]);
}

/** What the handler does after the opening. */
export function after(kit: Kit, name: string, steps: readonly ServerStep[]): Act {
  const opened = success(kit, name).steps.slice(0, -1);
  return { call: name, steps: [...opened, ...steps] };
}

export function about(kit: Kit, name: string, id: string) {
  return { id: `server/${name}/${id}`, side: "server", level: "must", at: kit.placeOf(name) } as const;
}

/** Opens the channel, lets the case talk, and leaves nothing behind. */
export async function on(
  kit: Kit,
  stage: ServerStage,
  name: string,
  talk: (frames: Frames) => Promise<void>,
): Promise<void> {
  const frames = await openChannel(kit, stage, name);
  try {
    await talk(frames);
  } finally {
    frames.cut();
  }
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

/** Waits until the handler has got a message. */
async function meetReceived(stage: ServerStage, name: string, expected: JsonMessage): Promise<void> {
  const until = Date.now() + stage.wait;
  for (;;) {
    const messages = (await stage.report()).find(({ call }) => call === name)?.messages ?? [];
    const came = messages.find(({ type }) => type === expected.type);
    if (came) return meet(alike(expected, came), JSON.stringify(expected), came);
    if (Date.now() > until) throw new Unmet(`the handler to get ${JSON.stringify(expected)}`, messages);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A message of the client that its handler may get at any time. */
function usual(kit: Kit, name: string): JsonMessage {
  const { open } = kit.contract.channels[name]!;
  const answers = (kit.contract.exchanges ?? []).flatMap((one) => one.answers.map(({ message }) => message));
  const types = kit.names(name, "client").filter((type) => type !== open?.client);
  const type = types.find((one) => !answers.includes(one)) ?? types[0]!;
  return kit.example(name, "client", type)!;
}

function frames(kit: Kit, name: string): ServerCase[] {
  const message = usual(kit, name);
  const text = kit.frame(name, "client", message);
  const script = [after(kit, name, [{ receive: message.type }, { hold: true }])];
  const arrives = (
    id: string,
    title: string,
    kill: string,
    send: (frames: Frames) => void,
    then?: (frames: Frames) => Promise<void>,
  ): ServerCase => ({
    ...about(kit, name, id),
    title: `${name} ${title}`,
    kill,
    script,
    run: (stage) =>
      on(kit, stage, name, async (frames) => {
        send(frames);
        await meetReceived(stage, name, message);
        await then?.(frames);
      }),
  });
  const refuses = (id: string, what: string, kill: string, send: (frames: Frames) => void): ServerCase => ({
    ...about(kit, name, id),
    title: `${name} refuses ${what}`,
    kill,
    script: [success(kit, name)],
    run: (stage) =>
      on(kit, stage, name, async (frames) => {
        send(frames);
        await meetRefusal(kit, name, frames, what);
      }),
  });
  const third = Math.ceil(text.length / 3);
  const unknown = unknownMessage(kit, name, "client");
  return [
    arrives("fragments", "reads a message in three fragments with a ping between them", "no-fragments", (frames) => {
      frames.frame(TEXT, text.slice(0, third), false);
      frames.frame(CONTINUED, text.slice(third, 2 * third), false);
      frames.frame(PING, "between");
      frames.frame(CONTINUED, text.slice(2 * third), true);
    }),
    ...(unknown === undefined
      ? []
      : [
          arrives(
            "unknown",
            "ignores a message that the contract does not define, and goes on",
            "refuse-unknown",
            (frames) => {
              frames.send(JSON.stringify(unknown));
              frames.send(text);
            },
            meetOpen,
          ),
          ...(kit.answersByOrder
            ? []
            : [
                arrives(
                  "unknown-silent",
                  "sends no error for a message that the contract does not define",
                  "answer-unknown",
                  (frames) => {
                    frames.send(JSON.stringify(unknown));
                    frames.send(text);
                  },
                  (frames) => meetSilence(kit, name, frames),
                ),
              ]),
        ]),
    refuses("malformed", "a frame that is not JSON", "lenient-frames", (frames) => frames.send('{"')),
    {
      ...refuses("binary", "a message in a binary frame", "any-binary", (frames) => frames.frame(BINARY, text)),
      level: "should",
    },
    {
      ...about(kit, name, "ping"),
      title: `${name} answers a ping with a pong of the same text`,
      kill: "no-pong",
      script: [success(kit, name)],
      run: (stage) =>
        on(kit, stage, name, async (frames) => {
          frames.frame(PING, "parlance");
          const frame = await frames.next();
          meet("pong" in frame && frame.pong === "parlance", "a pong with parlance", shown(frame));
        }),
    },
  ];
}

/** Meets a pong, and no close before it. */
async function meetOpen(frames: Frames): Promise<void> {
  for (const frame of await untilPong(frames)) meet(!("close" in frame), "the channel to go on", shown(frame));
}

/** Meets a pong, and before it neither a fault nor a message that the contract does not define: a newer client would take it for its answer. */
async function meetSilence(kit: Kit, name: string, frames: Frames): Promise<void> {
  for (const frame of await untilPong(frames)) {
    if (!("text" in frame)) continue;
    const read = kit.codec(name, "server").decode({ data: frame.text });
    const isFault = "message" in read && isFaultOf(kit, name, read.message.type);
    meet("message" in read && !isFault, "no error", frame.text);
  }
}

/** What comes before the pong of a ping, or up to a close. */
async function untilPong(frames: Frames): Promise<Frame[]> {
  frames.frame(PING, "open");
  const before: Frame[] = [];
  for (;;) {
    const frame = await frames.next();
    if ("pong" in frame) return before;
    before.push(frame);
    if ("close" in frame) return before;
  }
}

/** A message of a newer peer; undefined where every object is one that the contract defines. */
export function unknownMessage(
  kit: Kit,
  call: string,
  side: "client" | "server",
): Readonly<Record<string, string>> | undefined {
  const { tag, messages } = kit.contract;
  const constants = kit.names(call, side).flatMap((type) => Object.keys(messages[type]?.shape?.const ?? {}));
  const names = tag.in === "property" ? [tag.property] : [...new Set([...constants, "parlance"])];
  const bodies = names.map((name) => ({ [name]: "parlance.unknown" }));
  return bodies.find((body) => {
    try {
      return (
        "unknown" in
        kit
          .codec(call, side)
          .decode({ event: kit.contract.channels[call] ? undefined : "parlance.unknown", data: JSON.stringify(body) })
      );
    } catch {
      return false;
    }
  });
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
