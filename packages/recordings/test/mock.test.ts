import { request } from "node:http";
import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { serve } from "@parlance/server";
import { double } from "@parlance/server/testing";
import type { AnyMessage } from "@parlance/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { subjects } from "../../protocols/test/contracts.js";
import { type Mock, type MockOptions, mock } from "../src/mock/mock.js";
import { listenReplay } from "../src/node/listen.js";
import { loadRecording, transcriptRecording } from "../src/replay/loaded.js";
import { record } from "../src/tap.js";

/** The same mock in memory and on a port. */
const carriers = {
  "in memory": async (made: Mock) => {
    onTestFinished(() => made.close());
    return { fetch: made.fetch, webSocket: made.webSocket };
  },
  "over sockets": async (made: Mock) => {
    const { url, close } = await listenReplay(made);
    onTestFinished(close);
    return { baseUrl: url, webSocket };
  },
};

/** The types of a stream's messages, and the error's name or code if it fails. */
async function typesOf(stream: AsyncIterable<AnyMessage>, most = Number.POSITIVE_INFINITY): Promise<string[]> {
  const types: string[] = [];
  try {
    for await (const { type } of stream) {
      types.push(type);
      if (types.length === most) break;
    }
  } catch (error) {
    types.push((error as { code?: string }).code ?? (error as Error).name);
  }
  return types;
}

const open = { client_info: { name: "t", version: "1", capabilities: [] } };
const plain = { resume: false, retryWaits: [] } as const;

describe.each(Object.entries(carriers))("a mock %s", (_, carry) => {
  test("answers from the contract's examples, as a double does", async () => {
    const kit = double(foldGateway);
    onTestFinished(() => kit.close());
    const expected = connect(foldGateway, kit);
    const client = connect(foldGateway, await carry(mock(foldGateway)));
    expect(await client.listAgents()).toEqual(await expected.listAgents());
    expect(await typesOf(client.send({ content: "x" }))).toEqual(await typesOf(expected.send({ content: "x" })));
  });

  test("answers every request as the most similar recorded one, again and again, and others from examples", async () => {
    const app = serve(
      foldGateway,
      {
        async *send({ content }) {
          yield { type: "done", full_response: `${content}, recorded` };
        },
      },
      { partial: true },
    );
    const recording = record(app, { contract: foldGateway });
    for (const content of ["one", "two"]) await connect(foldGateway, recording).send({ content }).text();
    const sources: string[] = [];
    const made = mock(foldGateway, {
      from: await loadRecording(recording.bytes()),
      onAnswer: ({ target }, source) => sources.push(`${target} ${source}`),
    });
    const client = connect(foldGateway, { ...(await carry(made)), ...plain });
    const texts: string[] = [];
    for (const content of ["two", "one", "two", "another"]) texts.push(await client.send({ content }).text());
    expect(texts).toEqual(["two, recorded", "one, recorded", "two, recorded", "one, recorded"]);
    await client.listAgents();
    expect(sources).toEqual([...Array(4).fill("/api/send recording"), "/api/agents examples"]);
  });

  test("answers a recorded channel to several clients at a time, with the ids of each", async () => {
    const app = serve(
      loco,
      {
        async stream(_, channel) {
          channel.send({ type: "server.hello", server_info: { version: "recorded" } });
          for await (const { type } of channel)
            if (type === "client.user_message") channel.send({ type: "assistant.message_final", message: "Hi" });
        },
      },
      { partial: true, allowAnonymous: true },
    );
    const recording = record(app, { contract: loco });
    const talk = async (on: Partial<Mock>) => {
      const channel = await connect(loco, { ...on, ...plain }).stream({ session_id: "s" }, { open });
      channel.send({ type: "client.user_message", message: "Hello" });
      const heard: object[] = [];
      for await (const message of channel) if (heard.push(message) === 2) break;
      await channel.close();
      return heard;
    };
    const recorded = await talk(recording);
    const on = await carry(mock(loco, { from: await loadRecording(recording.bytes()) }));
    expect(await Promise.all([talk(on), talk(on)])).toEqual([recorded, recorded]);
  });

  const faults: [string, MockOptions, string[]][] = [
    ["nothing", {}, ["thinking", "text", "tool_use", "tool_result", "file", "done"]],
    ["a cut", { cut: 3 }, ["thinking", "text", "ended_early"]],
    ["a cut at the first message", { cut: 1 }, ["ended_early"]],
    ["a message that breaks its schema", { malformed: 2 }, ["thinking", "schema"]],
    ["latency", { latency: [1, 3] }, ["thinking", "text", "tool_use", "tool_result", "file", "done"]],
  ];
  test.each(faults)("has in its streams %s", async (_, options, types) => {
    const client = connect(foldGateway, { ...(await carry(mock(foldGateway, options))), ...plain });
    const heard = await typesOf(client.send({ content: "x" }));
    expect(heard.map((type) => (/^(malformed_json|schema|unexpected)/.test(type) ? "schema" : type))).toEqual(types);
    // What is no stream has no such fault.
    expect(await client.health()).toBeTypeOf("string");
  });

  test("sends nothing more from the message at which it stalls, and does not end", async () => {
    const client = connect(foldGateway, { ...(await carry(mock(foldGateway, { stall: 2 }))), ...plain });
    const stream = client.send({ content: "x" })[Symbol.asyncIterator]();
    expect(await stream.next()).toMatchObject({ value: { type: "thinking" } });
    const next = stream.next().then(() => "message");
    const meanwhile = connect(foldGateway, { ...(await carry(mock(foldGateway))), ...plain });
    expect(await Promise.race([next, typesOf(meanwhile.send({ content: "x" })).then(() => "nothing")])).toBe("nothing");
    void next.catch(() => {});
    await stream.return!();
  });

  test("cuts a stream once where the client resumes it", async () => {
    const client = connect(foldGateway, { ...(await carry(mock(foldGateway, { cut: 3 }))), retryWaits: [1] });
    expect(await typesOf(client.send({ content: "x" }))).toEqual(faults[0]![2]);
  });

  test("cuts and malforms channels", async () => {
    const heard = async (options: MockOptions) => {
      const on = await carry(mock(loco, options));
      // A fault may come before the channel is open.
      const channel = await connect(loco, { ...on, ...plain })
        .stream({ session_id: "s" }, { open })
        .catch(() => []);
      return typesOf(channel as AsyncIterable<AnyMessage>, 4);
    };
    const whole = await heard({});
    expect(whole.length).toBe(4);
    expect((await heard({ cut: 3 })).slice(0, 3)).not.toContain(whole[2]);
    expect((await heard({ malformed: 2 })).slice(0, 3)).not.toContain(whole[1]);
  });
});

describe("every contract's examples and transcripts", () => {
  const all = subjects.flatMap(({ contract, document }) =>
    Object.entries(document.transcripts).map(([name, lines]) => ({
      title: `${contract.name} ${name}`,
      contract,
      lines,
    })),
  );
  test.each(all)("$title: a mock answers each of its requests from it", async ({ contract, lines }) => {
    const conversation = transcriptRecording(contract, lines);
    const sources = new Set<string>();
    const made = mock(contract as never, { from: conversation, onAnswer: (_, source) => sources.add(source) });
    onTestFinished(() => made.close());
    for (const { request, body, status } of conversation.connections) {
      const { method, target, headers } = request;
      if (status === undefined) continue;
      const asked = { method, target, headers, body };
      if (request.socket) expect(await made.accept(asked)).toHaveProperty("run");
      else expect((await made.answer(asked)).status).toBeTypeOf("number");
    }
    expect([...sources].filter((source) => source !== "recording")).toEqual([]);
  });
});

test("the same seed and requests give the same faults, and seeds differ", async () => {
  const runs = async (seed: number) => {
    const made = mock(foldGateway, { cut: [1, 6], malformed: [1, 6], seed });
    onTestFinished(() => made.close());
    const client = connect(foldGateway, { ...made, ...plain, onViolation: () => {} });
    const all: string[][] = [];
    for (let count = 0; count < 6; count++) all.push(await typesOf(client.send({ content: "x" })));
    return JSON.stringify(all);
  };
  const seeds = await Promise.all([1, 2, 3, 1].map(runs));
  expect(seeds[3]).toBe(seeds[0]);
  expect(new Set(seeds).size).toBe(3);
});

test("a mock on a port answers to loopback names only", async () => {
  const { url, close } = await listenReplay(mock(foldGateway));
  onTestFinished(close);
  const statusFor = (host: string) =>
    new Promise((resolve, reject) => {
      const { port } = new URL(url);
      const asked = request({ port, host: "127.0.0.1", path: "/api/agents", headers: { Host: host } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.on("error", reject).end();
    });
  expect(await statusFor("localhost:1")).toBe(200);
  expect(await statusFor("evil.example")).toBe(403);
});
