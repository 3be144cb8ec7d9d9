import { mediaType } from "@parlance/wire/internal/http";
import { equal, meet, type ServerCase, Unmet } from "../case.js";
import type { Kit } from "../kit.js";
import type { Act, JsonMessage, ServerStep } from "../script.js";
import { Messages, meetOffered, openStream } from "./read.js";

/** Streams: each message, order, ends, failures, what is sent at once, and cancelling. */
export function streamCases(kit: Kit): ServerCase[] {
  return Object.entries(kit.contract.operations).flatMap(([name, { answer }]) =>
    answer.stream
      ? [
          ...messages(kit, name),
          ...heads(kit, name),
          ...deliveries(kit, name),
          ...ends(kit, name),
          ...failures(kit, name),
          liveStream(kit, name),
        ]
      : [],
  );
}

/** What the handler sends: the messages, and then an end. */
function sending(kit: Kit, name: string, messages: readonly JsonMessage[], more: readonly ServerStep[] = []): Act {
  const last: ServerStep[] = more.length > 0 || kit.ends(name) ? [...more] : [{ hold: true }];
  return { call: name, steps: [...messages.map((send) => ({ send })), ...last] };
}

function messages(kit: Kit, name: string): ServerCase[] {
  const { end = [], mayEnd = [] } = kit.contract.operations[name]!.answer.stream!;
  const last = kit.flow(name).at(-1)!;
  return kit.names(name, "server").flatMap((type) =>
    kit.said(name, "server", type).map(({ value, at, name: which }): ServerCase => {
      const isEnd = end.includes(type) || mayEnd.includes(type);
      const all = isEnd || !kit.ends(name) ? [value] : [value, last];
      return {
        id: `server/${name}/message/${type}/${which}`,
        side: "server",
        level: "must",
        title: `${name} sends ${type} as its handler gave it`,
        at,
        kill: "alter-message",
        script: [sending(kit, name, all)],
        async run(stage) {
          const { opened, messages } = await openStream(kit, stage, name);
          await messages.meet([value]);
          opened.abort();
        },
      };
    }),
  );
}

/** The head of the answer, and the names of its events. */
function heads(kit: Kit, name: string): ServerCase[] {
  const flow = kit.flow(name);
  const at = `${kit.placeOf(name)}/answer/stream`;
  const about = { side: "server", level: "must", at } as const;
  const { status } = kit.contract.operations[name]!.answer;
  const { tag } = kit.contract;
  const named: ServerCase = {
    ...about,
    at: "contract.json#/tag/event",
    id: `server/${name}/event-names`,
    title: `the events of ${name} have the names of their messages`,
    kill: "wrong-event",
    script: [sending(kit, name, flow)],
    async run(stage) {
      const { opened, messages } = await openStream(kit, stage, name);
      for (const { type } of flow) {
        const came = await messages.event();
        meet(came?.event === type, `the event ${type}`, came ?? "the end of the body");
      }
      opened.abort();
    },
  };
  return [
    {
      ...about,
      at: `${kit.placeOf(name)}/answer/status`,
      id: `server/${name}/status`,
      title: `${name} answers with ${status}`,
      kill: "wrong-status",
      script: [sending(kit, name, flow)],
      async run(stage) {
        const { opened } = await openStream(kit, stage, name);
        opened.abort();
        meet(opened.status === status, `status ${status}`, opened.status);
      },
    },
    ...(tag.in === "property" && tag.event ? [named] : []),
    {
      ...about,
      id: `server/${name}/event-stream`,
      title: `${name} answers with text/event-stream`,
      kill: "wrong-type",
      script: [sending(kit, name, flow)],
      async run(stage) {
        const { opened } = await openStream(kit, stage, name);
        opened.abort();
        meet(
          mediaType(opened.headers["content-type"]) === "text/event-stream",
          "Content-Type text/event-stream",
          opened.headers["content-type"] ?? "none",
        );
      },
    },
  ];
}

/** The order of messages, and when each is sent. */
function deliveries(kit: Kit, name: string): ServerCase[] {
  const flow = kit.flow(name);
  const about = { side: "server", level: "must", at: `${kit.placeOf(name)}/answer/stream` } as const;
  const ordered: ServerCase = {
    ...about,
    id: `server/${name}/order`,
    title: `${name} sends its messages in the order of its handler`,
    kill: "swap-messages",
    script: [sending(kit, name, flow)],
    async run(stage) {
      const { opened, messages } = await openStream(kit, stage, name);
      await messages.meet(flow);
      opened.abort();
    },
  };
  return [
    ...(flow.length > 1 && !equal(flow[0], flow[1]) ? [ordered] : []),
    {
      ...about,
      id: `server/${name}/at-once`,
      title: `${name} sends each message when its handler does, not at the end`,
      kill: "buffer",
      script: [sending(kit, name, flow.slice(0, 1), [{ hold: true }])],
      async run(stage) {
        const { opened, messages } = await openStream(kit, stage, name);
        await messages.meet(flow.slice(0, 1));
        opened.abort();
      },
    },
    {
      ...about,
      level: "should",
      id: `server/${name}/cancel`,
      title: `the handler of ${name} is stopped when its caller goes`,
      kill: "no-cancel",
      script: [sending(kit, name, flow.slice(0, 1), [{ hold: true }])],
      async run(stage) {
        const { opened, messages } = await openStream(kit, stage, name);
        await messages.meet(flow.slice(0, 1));
        opened.abort();
        const until = Date.now() + stage.wait;
        for (;;) {
          const called = (await stage.report()).find(({ call }) => call === name);
          if (called?.gone) return;
          if (Date.now() > until) throw new Unmet("the handler to be stopped", called ?? "no call");
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      },
    },
  ];
}

function ends(kit: Kit, name: string): ServerCase[] {
  const { end = [], mayEnd = [], sentinel } = kit.contract.operations[name]!.answer.stream!;
  const at = `${kit.placeOf(name)}/answer/stream`;
  const cases = [...end, ...mayEnd].flatMap((type): ServerCase[] => {
    const last = kit.example(name, "server", type);
    if (!last) return [];
    const all = [
      ...kit
        .flow(name)
        .slice(0, 1)
        .filter((one) => one.type !== type && !end.includes(one.type)),
      last,
    ];
    return [
      {
        id: `server/${name}/end/${type}`,
        side: "server",
        level: "must",
        title: `the body of ${name} ends after ${type}`,
        at: `${at}/${end.includes(type) ? "end" : "mayEnd"}`,
        kill: "no-end",
        script: [sending(kit, name, all)],
        async run(stage) {
          const { opened, messages } = await openStream(kit, stage, name);
          await messages.meet(all);
          await opened.rest().catch((error) => {
            throw error instanceof Unmet ? new Unmet(`the body to end after ${type}`, error.came) : error;
          });
        },
      },
    ];
  });
  for (const type of end) {
    const last = kit.example(name, "server", type);
    if (!last) continue;
    cases.push({
      id: `server/${name}/over/${type}`,
      side: "server",
      level: "must",
      title: `${name} sends no message after ${type}`,
      at: `${at}/end`,
      kill: "send-on",
      script: [sending(kit, name, [last])],
      async run(stage) {
        const { messages } = await openStream(kit, stage, name);
        await messages.meet([last]);
        const more = await messages.next();
        meet(more === undefined, `nothing after ${type}`, more);
      },
    });
  }
  if (sentinel !== undefined)
    cases.push({
      id: `server/${name}/sentinel`,
      side: "server",
      level: "must",
      title: `${name} ends with the event ${sentinel}`,
      at: `${at}/sentinel`,
      kill: "no-sentinel",
      script: [sending(kit, name, kit.flow(name))],
      async run(stage) {
        const { messages } = await openStream(kit, stage, name);
        let last: string | undefined;
        for (let event = await messages.event(); event; event = await messages.event()) last = event.data;
        meet(last === sentinel, sentinel, last ?? "no event");
      },
    });
  return cases;
}

/** What a handler's return and its failure do to a stream. */
function failures(kit: Kit, name: string): ServerCase[] {
  const { end = [], mayEnd = [], fault, closedBy } = kit.contract.operations[name]!.answer.stream!;
  const at = `${kit.placeOf(name)}/answer/stream`;
  const cases: ServerCase[] = [];
  const flow = kit.flow(name);
  // A stream that another call closes goes on when its handler returns. Only a failure ends it then.
  const last = closedBy === undefined ? undefined : fault;
  if (!kit.ends(name) && (closedBy === undefined || fault !== undefined))
    cases.push({
      id: `server/${name}/once`,
      side: "server",
      level: "must",
      title: `${name} sends the messages of its handler once, and no others`,
      at,
      kill: "send-twice",
      script: [
        {
          call: name,
          steps: [...flow.map((send) => ({ send })), ...(last === undefined ? [] : [{ fail: true } as const])],
        },
      ],
      async run(stage) {
        const { messages } = await openStream(kit, stage, name);
        await messages.meet(flow);
        const more = await messages.next();
        meet(more?.type === last, `${last ?? "nothing"} after ${flow.at(-1)!.type}`, more ?? "the end of the body");
      },
    });
  const first = flow.find(({ type }) => !end.includes(type) && !mayEnd.includes(type));
  if (fault !== undefined && first)
    cases.push({
      id: `server/${name}/failure`,
      side: "server",
      level: "must",
      title: `a handler of ${name} that fails ends its stream with ${fault}`,
      at: `${at}/fault`,
      kill: "hang-on-failure",
      script: [sending(kit, name, [first], [{ fail: true }])],
      async run(stage) {
        const { opened, messages } = await openStream(kit, stage, name);
        await messages.meet([first]);
        const came = await messages.next();
        opened.abort();
        meet(came?.type === fault, fault, came ?? "the end of the body");
      },
    });
  return cases;
}

function liveStream(kit: Kit, name: string): ServerCase {
  const { answer } = kit.contract.operations[name]!;
  return {
    id: `server/${name}/live`,
    side: "server",
    level: "must",
    title: `the server's own stream ${name} has messages that fit their schemas, and an end`,
    at: `${kit.placeOf(name)}/answer/stream`,
    kill: "alter-live-answer",
    script: [],
    live: true,
    async run(stage) {
      const opened = await stage.open(kit.asking(name, kit.input(name)));
      meetOffered(name, opened);
      meet(opened.status === answer.status, `status ${answer.status}`, opened.status);
      const messages = new Messages(kit, name, opened);
      const { end = [], mayEnd = [], sentinel } = answer.stream!;
      let last: JsonMessage | undefined;
      if (!kit.ends(name)) return opened.abort();
      for (let came = await messages.next(); came; came = await messages.next()) last = came;
      const types = [...end, ...mayEnd];
      const ends = [...types, ...(sentinel === undefined ? [] : [sentinel])];
      const isOver = messages.hasSentinel || (last !== undefined && types.includes(last.type));
      if (ends.length > 0) meet(isOver, ends.join(" or "), last ?? "no message");
      meet(messages.rereading === undefined, "the documented form", messages.rereading);
    },
  };
}
