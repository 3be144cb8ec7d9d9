import { mediaType } from "@parlance/wire/internal/http";
import { equal, meet, type ServerCase, Unmet } from "../case.js";
import type { Samples } from "../samples.js";
import type { Act, JsonMessage, ServerStep } from "../steps.js";
import { Messages, meetOffered, openStream } from "./read.js";

/** Streams: each message, order, ends, failures, what is sent at once, and cancelling. */
export function streamCases(samples: Samples): ServerCase[] {
  return Object.entries(samples.contract.operations).flatMap(([name, { answer }]) =>
    answer.stream
      ? [
          ...messages(samples, name),
          ...heads(samples, name),
          ...deliveries(samples, name),
          ...ends(samples, name),
          ...failures(samples, name),
          liveStream(samples, name),
        ]
      : [],
  );
}

/** What the handler sends: the messages, and then an end. */
function sending(
  samples: Samples,
  name: string,
  messages: readonly JsonMessage[],
  more: readonly ServerStep[] = [],
): Act {
  const last: ServerStep[] = more.length > 0 || samples.ends(name) ? [...more] : [{ hold: true }];
  return { call: name, steps: [...messages.map((send) => ({ send })), ...last] };
}

function messages(samples: Samples, name: string): ServerCase[] {
  const { end = [], mayEnd = [] } = samples.contract.operations[name]!.answer.stream!;
  const last = samples.flow(name).at(-1)!;
  return samples.names(name, "server").flatMap((type) =>
    samples.said(name, "server", type).map(({ value, at, name: which }): ServerCase => {
      const isEnd = end.includes(type) || mayEnd.includes(type);
      const all = isEnd || !samples.ends(name) ? [value] : [value, last];
      return {
        id: `server/${name}/message/${type}/${which}`,
        side: "server",
        level: "must",
        title: `${name} sends ${type} as its handler gave it`,
        at,
        kill: "alter-message",
        acts: [sending(samples, name, all)],
        async run(peer) {
          const { opened, messages } = await openStream(samples, peer, name);
          await messages.meet([value]);
          opened.abort();
        },
      };
    }),
  );
}

/** The head of the answer, and the names of its events. */
function heads(samples: Samples, name: string): ServerCase[] {
  const flow = samples.flow(name);
  const at = `${samples.placeOf(name)}/answer/stream`;
  const about = { side: "server", level: "must", at } as const;
  const { status } = samples.contract.operations[name]!.answer;
  const { tag } = samples.contract;
  const named: ServerCase = {
    ...about,
    at: "contract.json#/tag/event",
    id: `server/${name}/event-names`,
    title: `the events of ${name} have the names of their messages`,
    kill: "wrong-event",
    acts: [sending(samples, name, flow)],
    async run(peer) {
      const { opened, messages } = await openStream(samples, peer, name);
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
      at: `${samples.placeOf(name)}/answer/status`,
      id: `server/${name}/status`,
      title: `${name} answers with ${status}`,
      kill: "wrong-status",
      acts: [sending(samples, name, flow)],
      async run(peer) {
        const { opened } = await openStream(samples, peer, name);
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
      acts: [sending(samples, name, flow)],
      async run(peer) {
        const { opened } = await openStream(samples, peer, name);
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
function deliveries(samples: Samples, name: string): ServerCase[] {
  const flow = samples.flow(name);
  const about = { side: "server", level: "must", at: `${samples.placeOf(name)}/answer/stream` } as const;
  const ordered: ServerCase = {
    ...about,
    id: `server/${name}/order`,
    title: `${name} sends its messages in the order of its handler`,
    kill: "swap-messages",
    acts: [sending(samples, name, flow)],
    async run(peer) {
      const { opened, messages } = await openStream(samples, peer, name);
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
      acts: [sending(samples, name, flow.slice(0, 1), [{ hold: true }])],
      async run(peer) {
        const { opened, messages } = await openStream(samples, peer, name);
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
      acts: [sending(samples, name, flow.slice(0, 1), [{ hold: true }])],
      async run(peer) {
        const { opened, messages } = await openStream(samples, peer, name);
        await messages.meet(flow.slice(0, 1));
        opened.abort();
        const until = Date.now() + peer.wait;
        for (;;) {
          const called = (await peer.report()).find(({ call }) => call === name);
          if (called?.gone) return;
          if (Date.now() > until) throw new Unmet("the handler to be stopped", called ?? "no call");
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      },
    },
  ];
}

function ends(samples: Samples, name: string): ServerCase[] {
  const { end = [], mayEnd = [], sentinel } = samples.contract.operations[name]!.answer.stream!;
  const at = `${samples.placeOf(name)}/answer/stream`;
  const cases = [...end, ...mayEnd].flatMap((type): ServerCase[] => {
    const last = samples.example(name, "server", type);
    if (!last) return [];
    const all = [
      ...samples
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
        acts: [sending(samples, name, all)],
        async run(peer) {
          const { opened, messages } = await openStream(samples, peer, name);
          await messages.meet(all);
          await opened.rest().catch((error) => {
            throw error instanceof Unmet ? new Unmet(`the body to end after ${type}`, error.came) : error;
          });
        },
      },
    ];
  });
  for (const type of end) {
    const last = samples.example(name, "server", type);
    if (!last) continue;
    cases.push({
      id: `server/${name}/over/${type}`,
      side: "server",
      level: "must",
      title: `${name} sends no message after ${type}`,
      at: `${at}/end`,
      kill: "send-on",
      acts: [sending(samples, name, [last])],
      async run(peer) {
        const { messages } = await openStream(samples, peer, name);
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
      acts: [sending(samples, name, samples.flow(name))],
      async run(peer) {
        const { messages } = await openStream(samples, peer, name);
        let last: string | undefined;
        for (let event = await messages.event(); event; event = await messages.event()) last = event.data;
        meet(last === sentinel, sentinel, last ?? "no event");
      },
    });
  return cases;
}

/** What a handler's return and its failure do to a stream. */
function failures(samples: Samples, name: string): ServerCase[] {
  const { end = [], mayEnd = [], fault, closedBy } = samples.contract.operations[name]!.answer.stream!;
  const at = `${samples.placeOf(name)}/answer/stream`;
  const cases: ServerCase[] = [];
  const flow = samples.flow(name);
  // A stream that another call closes goes on when its handler returns. Only a failure ends it then.
  const last = closedBy === undefined ? undefined : fault;
  if (!samples.ends(name) && (closedBy === undefined || fault !== undefined))
    cases.push({
      id: `server/${name}/once`,
      side: "server",
      level: "must",
      title: `${name} sends the messages of its handler once, and no others`,
      at,
      kill: "send-twice",
      acts: [
        {
          call: name,
          steps: [...flow.map((send) => ({ send })), ...(last === undefined ? [] : [{ fail: true } as const])],
        },
      ],
      async run(peer) {
        const { messages } = await openStream(samples, peer, name);
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
      acts: [sending(samples, name, [first], [{ fail: true }])],
      async run(peer) {
        const { opened, messages } = await openStream(samples, peer, name);
        await messages.meet([first]);
        const came = await messages.next();
        opened.abort();
        meet(came?.type === fault, fault, came ?? "the end of the body");
      },
    });
  return cases;
}

function liveStream(samples: Samples, name: string): ServerCase {
  const { answer } = samples.contract.operations[name]!;
  return {
    id: `server/${name}/live`,
    side: "server",
    level: "must",
    title: `the server's own stream ${name} has messages that fit their schemas, and an end`,
    at: `${samples.placeOf(name)}/answer/stream`,
    kill: "alter-live-answer",
    acts: [],
    live: true,
    async run(peer) {
      const opened = await peer.open(samples.asking(name, samples.input(name)));
      meetOffered(name, opened);
      meet(opened.status === answer.status, `status ${answer.status}`, opened.status);
      const messages = new Messages(samples, name, opened);
      const { end = [], mayEnd = [], sentinel } = answer.stream!;
      let last: JsonMessage | undefined;
      if (!samples.ends(name)) return opened.abort();
      for (let came = await messages.next(); came; came = await messages.next()) last = came;
      const types = [...end, ...mayEnd];
      const ends = [...types, ...(sentinel === undefined ? [] : [sentinel])];
      const isOver = messages.hasSentinel || (last !== undefined && types.includes(last.type));
      if (ends.length > 0) meet(isOver, ends.join(" or "), last ?? "no message");
      meet(messages.rereading === undefined, "the documented form", messages.rereading);
    },
  };
}
