import { mediaType } from "@parlance/wire/internal/http";
import { equal, meet, type ServerCase, Unmet } from "../case.js";
import type { Samples } from "../samples.js";
import type { Act, JsonMessage, ServerStep } from "../steps.js";
import type { Opened, TestedServer } from "../tested.js";
import { Messages, meetOffered, meetSuccess, openStream, reported } from "./read.js";

/** Streams: each message, order, ends, failures, what is sent at once, and cancelling. */
export function streamCases(samples: Samples): ServerCase[] {
  return Object.entries(samples.contract.operations).flatMap(([name, { answer }]) =>
    // Every case is about events.
    answer.stream && answer.stream.lines === undefined
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

interface StreamCase {
  readonly id: string;
  readonly title: string;
  readonly at?: string;
  readonly level?: ServerCase["level"];
  readonly kill: string;
  /** The steps of the handler. */
  readonly act: Act;
  check(messages: Messages, opened: Opened, peer: TestedServer): Promise<void>;
}

/** A case on a stream that is opened, and left after the check. */
function streamCase(samples: Samples, name: string, { id, act, check, ...about }: StreamCase): ServerCase {
  return {
    side: "server",
    level: "must",
    at: `${samples.placeOf(name)}/answer/stream`,
    ...about,
    id: `server/${name}/${id}`,
    acts: [act],
    async run(peer) {
      const { opened, messages } = await openStream(samples, peer, name);
      try {
        await check(messages, opened, peer);
      } finally {
        opened.abort();
      }
    },
  };
}

/** The handler's messages, and its end. */
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
  const last = samples.flow(name).at(-1)!;
  return samples.names(name, "server").flatMap((type) =>
    samples.said(name, "server", type).map(({ value, at, name: which }) => {
      const isLast = samples.isEnd(name, type) || !samples.ends(name);
      return streamCase(samples, name, {
        id: `message/${type}/${which}`,
        title: `${name} sends ${type} as its handler gave it`,
        at,
        kill: "alter-message",
        act: sending(samples, name, isLast ? [value] : [value, last]),
        check: (messages) => messages.meet([value]),
      });
    }),
  );
}

/** The head of the answer, and the names of its events. */
function heads(samples: Samples, name: string): ServerCase[] {
  const flow = samples.flow(name);
  const act = sending(samples, name, flow);
  const { status } = samples.contract.operations[name]!.answer;
  const { tag } = samples.contract;
  const named = streamCase(samples, name, {
    id: "event-names",
    title: `the events of ${name} have the names of their messages`,
    at: "contract.json#/tag/event",
    kill: "wrong-event",
    act,
    async check(messages) {
      for (const { type } of flow) {
        const came = await messages.event();
        meet(came?.event === type, `the event ${type}`, came ?? "the end of the body");
      }
    },
  });
  return [
    streamCase(samples, name, {
      id: "status",
      title: `${name} answers with ${status}`,
      at: `${samples.placeOf(name)}/answer/status`,
      kill: "wrong-status",
      act,
      check: async (_, opened) => meet(opened.status === status, `status ${status}`, opened.status),
    }),
    ...(tag.in === "property" && tag.event ? [named] : []),
    streamCase(samples, name, {
      id: "event-stream",
      title: `${name} answers with text/event-stream`,
      kill: "wrong-type",
      act,
      async check(_, { headers: { "content-type": type } }) {
        meet(mediaType(type) === "text/event-stream", "Content-Type text/event-stream", type ?? "none");
      },
    }),
  ];
}

/** The order of messages, and when each is sent. */
function deliveries(samples: Samples, name: string): ServerCase[] {
  const flow = samples.flow(name);
  const first = flow.slice(0, 1);
  const held = sending(samples, name, first, [{ hold: true }]);
  const ordered = streamCase(samples, name, {
    id: "order",
    title: `${name} sends its messages in the order of its handler`,
    kill: "swap-messages",
    act: sending(samples, name, flow),
    check: (messages) => messages.meet(flow),
  });
  return [
    ...(flow.length > 1 && !equal(flow[0], flow[1]) ? [ordered] : []),
    streamCase(samples, name, {
      id: "at-once",
      title: `${name} sends each message when its handler does, not at the end`,
      kill: "buffer",
      act: held,
      check: (messages) => messages.meet(first),
    }),
    streamCase(samples, name, {
      id: "cancel",
      level: "should",
      title: `the handler of ${name} is stopped when its caller goes`,
      kill: "no-cancel",
      act: held,
      async check(messages, opened, peer) {
        await messages.meet(first);
        opened.abort();
        await reported(
          peer,
          name,
          "the handler to be stopped",
          (called) => called,
          (called) => called?.gone === true,
        );
      },
    }),
  ];
}

function ends(samples: Samples, name: string): ServerCase[] {
  const { end = [], mayEnd = [], sentinel } = samples.contract.operations[name]!.answer.stream!;
  const at = `${samples.placeOf(name)}/answer/stream`;
  const last = (type: string) => [samples.example(name, "server", type) ?? []].flat();
  const ended = [...end, ...mayEnd].flatMap((type) =>
    last(type).map((message) => {
      const before = samples.flow(name).slice(0, 1);
      const all = [...before.filter((one) => one.type !== type && !end.includes(one.type)), message];
      return streamCase(samples, name, {
        id: `end/${type}`,
        title: `the body of ${name} ends after ${type}`,
        at: `${at}/${end.includes(type) ? "end" : "mayEnd"}`,
        kill: "no-end",
        act: sending(samples, name, all),
        async check(messages, opened) {
          await messages.meet(all);
          await opened.rest().catch((error) => {
            throw error instanceof Unmet ? new Unmet(`the body to end after ${type}`, error.came) : error;
          });
        },
      });
    }),
  );
  const over = end.flatMap((type) =>
    last(type).map((message) =>
      streamCase(samples, name, {
        id: `over/${type}`,
        title: `${name} sends no message after ${type}`,
        at: `${at}/end`,
        kill: "send-on",
        act: sending(samples, name, [message]),
        async check(messages) {
          await messages.meet([message]);
          const more = await messages.next();
          meet(more === undefined, `nothing after ${type}`, more);
        },
      }),
    ),
  );
  if (sentinel === undefined) return [...ended, ...over];
  return [
    ...ended,
    ...over,
    streamCase(samples, name, {
      id: "sentinel",
      title: `${name} ends with the event ${sentinel}`,
      at: `${at}/sentinel`,
      kill: "no-sentinel",
      act: sending(samples, name, samples.flow(name)),
      async check(messages) {
        let last: string | undefined;
        for (let event = await messages.event(); event; event = await messages.event()) last = event.data;
        meet(last === sentinel, sentinel, last ?? "no event");
      },
    }),
  ];
}

/** The effect of a handler's return and of its failure on a stream. */
function failures(samples: Samples, name: string): ServerCase[] {
  const { fault, closedBy } = samples.contract.operations[name]!.answer.stream!;
  const cases: ServerCase[] = [];
  const flow = samples.flow(name);
  // A stream that another call closes goes on when its handler returns. Only a failure ends it then.
  const last = closedBy === undefined ? undefined : fault;
  const fail: ServerStep = { fail: true };
  if (!samples.ends(name) && (closedBy === undefined || fault !== undefined))
    cases.push(
      streamCase(samples, name, {
        id: "once",
        title: `${name} sends the messages of its handler once, and no others`,
        kill: "send-twice",
        act: { call: name, steps: [...flow.map((send) => ({ send })), ...(last === undefined ? [] : [fail])] },
        async check(messages) {
          await messages.meet(flow);
          const more = await messages.next();
          meet(more?.type === last, `${last ?? "nothing"} after ${flow.at(-1)!.type}`, more ?? "the end of the body");
        },
      }),
    );
  const first = flow.find(({ type }) => !samples.isEnd(name, type));
  if (fault !== undefined && first)
    cases.push(
      streamCase(samples, name, {
        id: "failure",
        title: `a handler of ${name} that fails ends its stream with ${fault}`,
        at: `${samples.placeOf(name)}/answer/stream/fault`,
        kill: "hang-on-failure",
        act: sending(samples, name, [first], [fail]),
        async check(messages) {
          await messages.meet([first]);
          const came = await messages.next();
          meet(came?.type === fault, fault, came ?? "the end of the body");
        },
      }),
    );
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
      meetSuccess(answer, opened.status, String(opened.status));
      if (opened.status === answer.none) return opened.abort();
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
