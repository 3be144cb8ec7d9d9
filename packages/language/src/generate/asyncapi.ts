import {
  type Carrier,
  type ChannelContract,
  type ContractDocument,
  carriersOf,
  type Operation,
  type Side,
} from "@parlance/wire";
import { formatPointer, keyPath } from "@parlance/wire/internal/pointer";
import { prefixOf } from "../prefix.js";
import { pascal } from "../schema.js";
import { credentialsOf, hostOf, type SourceCall, schemasAt, sourceOf } from "./source.js";

const at = (...steps: string[]) => ({ $ref: `#${formatPointer(steps)}` });

/**
 * The streams and channels of a contract as an AsyncAPI 3.0 document, from the server's point of view: a client receives what it
 * sends. Answers are replies; an answer that is an operation of its own is described in prose.
 */
export function asyncapi(document: ContractDocument): object {
  const { contract } = document;
  const source = sourceOf(document);
  const { protocol, ...place } = hostOf(contract.url);
  const streams = Object.entries(contract.operations).filter(([, { answer }]) => answer.stream !== undefined);
  const channels = Object.entries(contract.channels);
  const credentials = credentialsOf(document);
  const security = credentials?.needed && { security: [at("components", "securitySchemes", credentials.name)] };
  const scheme = credentials?.header
    ? { type: "httpApiKey", in: "header", name: credentials.header }
    : { type: "http", scheme: "bearer" };
  return {
    asyncapi: "3.0.0",
    info: { title: source.title, version: source.version ?? "1.0", description: source.description },
    defaultContentType: "application/json",
    servers: {
      ...(streams.length > 0 && { http: { ...place, protocol, ...security } }),
      ...(carries(channels, "websocket") && {
        ws: { ...place, protocol: protocol === "https" ? "wss" : "ws", ...security },
      }),
      ...(carries(channels, "stdio") && { stdio: STDIO }),
    },
    channels: Object.fromEntries([
      ...streams.map(([name, operation]) => [
        name,
        channelOf(["http"], source.operations[name]!, [
          ...(operation.body ? [operation.body] : []),
          ...operation.answer.stream!.messages,
        ]),
      ]),
      ...channels.map(([name, channel]) => [
        name,
        channelOf(
          carriersOf(channel).map((carrier) => (carrier === "stdio" ? "stdio" : "ws")),
          source.channels[name]!,
          [...channel.client, ...channel.server],
        ),
      ]),
    ]),
    operations: Object.fromEntries([
      ...streams.map(([name, operation]) => [`${name}Send`, streamOperation(document, name, operation)]),
      ...streams.flatMap(([name, { answer }]) => asks(document, name, "server", answer.stream!.messages, [])),
      ...channels.flatMap(([name, channel]) => channelOperations(document, name, channel)),
    ]),
    components: {
      messages: {
        ...messagesOf(document),
        ...Object.fromEntries(
          streams.flatMap(([, { body }]) => (body ? [[body, message(document, body, body, [])]] : [])),
        ),
      },
      schemas: schemasAt(document, (title) => at("components", "schemas", title).$ref),
      ...(credentials && {
        securitySchemes: { [credentials.name]: { ...scheme, description: source.auth?.description } },
      }),
    },
  };
}

/** AsyncAPI has no servers without a host. */
const STDIO = {
  host: "localhost",
  protocol: "stdio",
  description: "A program that is started: its standard input and output, one message a line.",
};

function carries(channels: readonly (readonly [string, ChannelContract])[], carrier: Carrier): boolean {
  return channels.some(([, channel]) => carriersOf(channel).includes(carrier));
}

function channelOf(
  servers: readonly ("http" | "ws" | "stdio")[],
  told: SourceCall,
  messages: readonly string[],
): object {
  const parameters = Object.entries(told.parameters ?? {});
  const path = parameters.filter(([, one]) => one.in === "path");
  const query = parameters.filter(([, one]) => one.in === "query");
  return {
    address: told.path,
    summary: told.summary,
    ...(told.description !== undefined && { description: told.description }),
    servers: servers.map((server) => at("servers", server)),
    ...(path.length > 0 && {
      parameters: Object.fromEntries(
        path.map(([name, { description }]) => [name, { description: description ?? name }]),
      ),
    }),
    messages: Object.fromEntries(messages.map((name) => [name, at("components", "messages", name)])),
    ...(query.length > 0 &&
      servers.includes("ws") && {
        bindings: {
          ws: {
            query: {
              type: "object",
              properties: Object.fromEntries(query.map(([name, { in: _, required, ...schema }]) => [name, schema])),
            },
          },
        },
      }),
  };
}

/** A stream that a body asks for is a reply to it; any other is sent to its readers. */
function streamOperation(document: ContractDocument, name: string, { method, body, answer }: Operation): object {
  const messages = answer.stream!.messages.map((one) => at("channels", name, "messages", one));
  const { summary } = sourceOf(document).operations[name]!;
  const channel = at("channels", name);
  const bindings = { http: { method } };
  const { none, stream } = answer;
  const notes = [
    stream!.sentinel && `The event \`data: ${stream!.sentinel}\` ends the stream.`,
    stream!.rejoin && `A stream that was cut is joined again by ${stream!.rejoin.operation}.`,
    none && `The status ${none} is an answer with no messages.`,
  ].filter(Boolean);
  const prose = notes.length === 0 ? {} : { description: notes.join(" ") };
  if (body === undefined) return { action: "send", channel, summary, ...prose, messages, bindings };
  const asked = [at("channels", name, "messages", body)];
  return { action: "receive", channel, summary, ...prose, messages: asked, bindings, reply: { channel, messages } };
}

function channelOperations(document: ContractDocument, name: string, channel: ChannelContract): [string, object][] {
  const plain = (side: Side): [string, object] => [
    `${name}${side === "server" ? "Send" : "Receive"}`,
    {
      action: side === "server" ? "send" : "receive",
      channel: at("channels", name),
      summary: `What the ${side} says.`,
      messages: channel[side].map((one) => at("channels", name, "messages", one)),
    },
  ];
  return [
    plain("server"),
    plain("client"),
    ...asks(document, name, "server", channel.server, channel.client),
    ...asks(document, name, "client", channel.client, channel.server),
  ];
}

/** The requests of one side of a channel, each an operation with its reply. */
function asks(
  document: ContractDocument,
  name: string,
  by: Side,
  messages: readonly string[],
  answers: readonly string[],
): [string, object][] {
  const { exchanges = [] } = document.contract;
  return exchanges.flatMap((exchange, index): [string, object][] => {
    if (exchange.by !== by || !messages.includes(exchange.ask)) return [];
    const replies = exchange.answers.flatMap(({ message }) => (message && answers.includes(message) ? message : []));
    const operations = exchange.answers.flatMap(({ operation }) => (operation ? `\`${operation}\`` : []));
    const prose = [
      sourceOf(document).exchanges?.[index]?.description,
      exchange.when && `Only when ${JSON.stringify(exchange.when)}.`,
      operations.length > 0 && `Answered by the HTTP operation ${operations.join(" or ")}.`,
      exchange.key === undefined ? "Answered in order." : `The answer repeats \`${exchange.key}\`.`,
    ];
    const channel = at("channels", name);
    return [
      [
        `${name}Ask${pascal(exchange.ask)}`,
        {
          action: by === "server" ? "send" : "receive",
          channel,
          description: prose.filter(Boolean).join(" "),
          messages: [at("channels", name, "messages", exchange.ask)],
          ...(replies.length > 0 && {
            reply: { channel, messages: replies.map((one) => at("channels", name, "messages", one)) },
          }),
        },
      ],
    ];
  });
}

function messagesOf(document: ContractDocument): Record<string, object> {
  const { contract } = document;
  const streams = Object.values(contract.operations).flatMap(({ answer }) => answer.stream ?? []);
  const channels = Object.values(contract.channels);
  return Object.fromEntries(
    Object.entries(contract.messages).map(([name, { schema, fault }]) => {
      const exchanges = contract.exchanges ?? [];
      const tags = [
        streams.some(({ end }) => end?.includes(name)) && "ends the stream",
        channels.some(({ open }) => open?.client === name || open?.server === name) && "opens the channel",
        fault && "fault",
        exchanges.some(({ ask }) => ask === name) && "ask",
        exchanges.some(({ answers }) => answers.some((one) => one.message === name)) && "answer",
      ].filter((tag) => tag !== false && tag !== undefined);
      const key = exchanges.find((one) => one.ask === name)?.key;
      const own = message(document, name, schema, tags as string[]);
      return [
        name,
        key === undefined
          ? own
          : { ...own, correlationId: { location: `$message.payload#${formatPointer(keyPath(key))}` } },
      ];
    }),
  );
}

function message(document: ContractDocument, name: string, title: string, tags: readonly string[]): object {
  const { description, examples } = document.schemas[title]!;
  const { tag } = document.contract;
  const prefix = prefixOf(document.contract, name);
  return {
    name,
    title,
    ...(description !== undefined && { summary: description }),
    ...(prefix !== undefined && { description: `Each message whose name begins with \`${prefix}\`.` }),
    ...(prefix === undefined &&
      tag.in === "event" &&
      name !== title && { description: `SSE event \`${name}\`; the body does not repeat it.` }),
    payload: at("components", "schemas", title),
    ...(examples && { examples: examples.map((payload) => ({ payload })) }),
    ...(tags.length > 0 && { tags: tags.map((one) => ({ name: one })) }),
  };
}
