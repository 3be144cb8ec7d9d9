import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { type App, Refusal, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import type { Call, Channel, ContractValue, MessageStream } from "@parlance/wire";
import ts from "typescript";
import { describe, expect, onTestFinished, test } from "vitest";
import { elsewhere } from "./elsewhere.js";

// Two protocols that nobody has, written as a team elsewhere would: in a folder of their own, with the command and the packages.

const json = (value: unknown) => JSON.stringify(value, null, 2);

/** A message's schema, or a body's, of which every property is required. */
const schema = (title: string, properties: Record<string, object>, example: object) =>
  json({
    title,
    description: title,
    type: "object",
    required: Object.keys(properties),
    properties,
    examples: [example],
  });

const string = { type: "string" };
const fault = { "messages/fault.json": schema("FaultBody", { problem: string }, { problem: "no such harbour" }) };

const tides = {
  ...fault,
  "contract.json": json({
    $schema: "../contract.schema.json",
    format: 1,
    name: "tides",
    title: "Tides",
    url: "http://localhost:1",
    tag: { in: "property", property: "kind" },
    messages: {
      level: { schema: "messages/level.json" },
      over: { schema: "messages/over.json" },
      "storm.warning": { schema: "messages/storm.json", fault: { text: ["/reason"] } },
    },
    operations: {
      watch: {
        method: "POST",
        path: "/harbours/{harbour}/watch",
        summary: "Watch the water.",
        parameters: { harbour: { in: "path", type: "string" }, days: { in: "query", type: "integer" } },
        body: "messages/watch.json",
        answer: {
          status: 200,
          stream: {
            messages: ["level", "over", "storm.warning"],
            end: ["over", "storm.warning"],
            fault: "storm.warning",
          },
        },
        faults: { "404": { description: "No such harbour." } },
      },
    },
    channels: {},
    fault: { schema: "messages/fault.json", text: ["/problem"] },
  }),
  "messages/watch.json": schema("WatchBody", { unit: { enum: ["m", "ft"] } }, { unit: "m" }),
  "messages/level.json": schema(
    "LevelMessage",
    { kind: { const: "level" }, height: { type: "number" } },
    { kind: "level", height: 1.5 },
  ),
  "messages/over.json": schema("OverMessage", { kind: { const: "over" } }, { kind: "over" }),
  "messages/storm.json": schema(
    "StormMessage",
    { kind: { const: "storm.warning" }, reason: string },
    { kind: "storm.warning", reason: "wind" },
  ),
};

const pilot = {
  ...fault,
  "contract.json": json({
    $schema: "../contract.schema.json",
    format: 1,
    name: "pilot",
    title: "Pilot",
    url: "http://localhost:1",
    tag: { in: "shape" },
    messages: {
      hail: { schema: "messages/hail.json", shape: { const: { says: "hail" } } },
      mayEnter: { schema: "messages/may-enter.json", shape: { required: ["berth"] } },
      yes: { schema: "messages/yes.json", shape: { const: { ok: true } } },
      log: { schema: "messages/log.json" },
    },
    operations: {},
    channels: {
      radio: {
        path: "/radio/{ship}",
        summary: "Talk to the pilot.",
        parameters: { ship: { in: "path", type: "string" } },
        client: ["hail", "yes"],
        server: ["mayEnter", "log"],
        open: { client: "hail" },
      },
    },
    exchanges: [{ ask: "mayEnter", by: "server", key: "berth", answers: [{ message: "yes", key: "of" }] }],
    fault: { schema: "messages/fault.json", text: ["/problem"] },
  }),
  "messages/hail.json": schema(
    "HailMessage",
    { says: { const: "hail" }, name: string },
    { says: "hail", name: "Otter" },
  ),
  "messages/may-enter.json": schema("MayEnterMessage", { berth: { type: "integer" } }, { berth: 4 }),
  "messages/yes.json": schema("YesMessage", { ok: { const: true }, of: { type: "integer" } }, { ok: true, of: 4 }),
  "messages/log.json": schema("LogMessage", { text: string }, { text: "moored" }),
};

/** The same conversation in memory and over a port. */
const carriers = {
  "in memory": async (app: App) => ({ fetch: app.fetch, webSocket: app.webSocket }),
  "over a socket": async (app: App) => {
    const server = await listen(app, { port: 0 });
    onTestFinished(() => server.close());
    return { baseUrl: server.url, webSocket };
  },
};

interface Tides {
  watch(input: { harbour: string; days?: number; unit: string }): MessageStream<{ type: string; height?: number }>;
}
interface TidesHandlers {
  watch(input: { harbour: string; days?: number; unit: string }, call: Call): AsyncIterable<{ type: string }>;
}
type RadioMessage = { type: string; [key: string]: unknown };
interface Pilot {
  radio(input: { ship: string }, options: { open: object }): Promise<Channel<RadioMessage, RadioMessage>>;
}
interface PilotHandlers {
  radio(
    input: { ship: string },
    channel: Channel<RadioMessage, RadioMessage, { mayEnter: RadioMessage }>,
  ): Promise<void>;
}

describe.each(Object.entries(carriers))("a protocol of somebody else's, %s,", (_, carrier) => {
  test("streams events", async () => {
    const { contract } = await elsewhere("tides", tides);
    const seen: unknown[] = [];
    const app = serve<TidesHandlers>(contract as ContractValue<Tides, TidesHandlers>, {
      async *watch(input) {
        seen.push(input);
        if (input.harbour === "atlantis") throw new Refusal("no such harbour", { status: 404 });
        yield { type: "level", height: 1.5 };
        yield { type: "level", height: 2 };
        yield { type: "over" };
      },
    });
    const client = connect(contract as ContractValue<Tides, TidesHandlers>, await carrier(app));
    const messages = [];
    for await (const message of client.watch({ harbour: "ostend", days: 2, unit: "m" })) messages.push(message);
    expect(messages).toEqual([{ type: "level", height: 1.5 }, { type: "level", height: 2 }, { type: "over" }]);
    expect(seen).toEqual([{ harbour: "ostend", days: 2, unit: "m" }]);
    await expect(client.watch({ harbour: "atlantis", unit: "ft" }).opened).rejects.toMatchObject({
      name: "Refusal",
      status: 404,
      message: expect.stringContaining("no such harbour"),
    });
  });

  test("asks and answers on a channel", async () => {
    const { contract } = await elsewhere("pilot", pilot);
    const heard: unknown[] = [];
    const app = serve<PilotHandlers>(contract as ContractValue<Pilot, PilotHandlers>, {
      async radio({ ship }, channel) {
        for await (const message of channel) {
          heard.push(message);
          const answer = await channel.ask({ type: "mayEnter", berth: 4 });
          heard.push(answer);
          channel.send({ type: "log", text: `${ship} moored` });
          break;
        }
      },
    });
    const client = connect(contract as ContractValue<Pilot, PilotHandlers>, await carrier(app));
    const radio = await client.radio({ ship: "otter" }, { open: { name: "Otter" } });
    const messages = [];
    for await (const message of radio) {
      messages.push(message);
      if (message.type === "mayEnter") radio.send({ type: "yes", of: message.berth });
      else break;
    }
    await radio.close();
    expect(messages).toEqual([
      { type: "mayEnter", berth: 4 },
      { type: "log", text: "otter moored" },
    ]);
    expect(heard).toEqual([
      { type: "hail", name: "Otter" },
      { type: "yes", of: 4 },
    ]);
  });
});

test("what is generated elsewhere compiles, and its types are those of the contract", async () => {
  const { cwd } = await elsewhere("tides", tides);
  const use = `import { tides, type LevelMessage, type TidesHandlers } from "./tides.js";
export const level: LevelMessage = { type: "level", height: 1 };
export const handlers: TidesHandlers = { async *watch({ harbour, days, unit }) { yield { type: "level", height: harbour.length + (days ?? 0) + unit.length }; } };
export const name: string = tides.name;
// @ts-expect-error a level has a height
export const wrong: LevelMessage = { type: "level" };
`;
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const { config } = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);
  const file = join(cwd, "src/use.ts");
  ts.sys.writeFile(file, use);
  const program = ts.createProgram([file], { ...options, types: [] });
  const found = ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  expect(found).toEqual([]);
});
