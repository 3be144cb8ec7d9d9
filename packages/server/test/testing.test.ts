import { connect, Disconnected } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { play, stopClock } from "@parlance/client/testing";
import { contractValue } from "@parlance/language/value";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { Refusal } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { double } from "@parlance/server/testing";
import type { AnyContract, AnyMessage, ContractDocument } from "@parlance/wire";
import type { AnyChannel } from "@parlance/wire/link";
import { describe, expect, onTestFinished, test } from "vitest";
import { subjects } from "../../protocols/test/contracts.js";

interface RpcLoose {
  call(method: string, params: object): Promise<unknown> & AsyncIterable<unknown>;
  close(): Promise<void>;
}

/** The session that a result repeats. */
const sessionIn = (result: object, { session }: AnyContract) =>
  session !== undefined && Object.hasOwn(result, session) ? { [session]: "mine" } : {};

type AnyClient = Record<string, (input: object, options?: object) => unknown>;

/** The example of a call's body, with whatever else the call needs. */
function inputOf(contract: AnyContract, { schemas }: ContractDocument, name: string): object {
  const { parameters = {}, body } = { body: undefined, ...(contract.operations[name] ?? contract.channels[name]!) };
  const needed = Object.entries(parameters).filter(([, { in: place, required }]) => required || place === "path");
  const given = needed.map(([key, { type }]) => [key, type === "string" ? "s1" : 1]);
  return { ...(body && (schemas[body]!.examples![0] as object)), ...Object.fromEntries(given) };
}

describe.each(subjects.map((subject) => ({ name: subject.contract.name, ...subject })))(
  "the double of $name, without handlers",
  ({ contract, document }) => {
    const isFault = (name: string) => contract.messages[name]!.fault !== undefined;
    const kit = double(contract as AnyContract);
    const client = connect(contract, { ...kit, token: "t" }) as AnyClient;
    const call = (name: string, options?: object) => client[name]!(inputOf(contract, document, name), options);

    test("answers each operation as the contract has it, and lists what it was asked", async () => {
      const names = Object.entries(contract.operations).flatMap(([name, { answer }]) => (answer.stream ? [] : name));
      const before = kit.asked.length;
      for (const name of names) await call(name);
      expect(kit.asked.slice(before).map(({ operation }) => operation)).toEqual(names);
    });

    test("sends each message of a stream that is no failure, and one that ends it", async () => {
      for (const [name, { answer }] of Object.entries(contract.operations)) {
        if (!answer.stream) continue;
        const { messages, end, mayEnd = [], closedBy } = answer.stream;
        const ends = [...(end ?? []), ...mayEnd].filter((one) => !isFault(one));
        const others = messages.filter((one) => !isFault(one) && !ends.includes(one));
        const heard: string[] = [];
        for await (const { type } of call(name) as AsyncIterable<AnyMessage>) {
          // A name that is a prefix stands for many.
          heard.push(messages.find((one) => one.endsWith("*") && type.startsWith(one.slice(0, -1))) ?? type);
          if (closedBy && heard.length === others.length) break;
        }
        expect(heard, name).toEqual([...others, ...ends.slice(0, 1)]);
      }
    });

    test("answers each method of a channel, and sends what belongs to it", async () => {
      const methods = Object.entries(contract.methods ?? {});
      const requests = methods.filter(([, { by, result }]) => by !== "server" && result !== undefined);
      const paramsOf = (name: string) => {
        const [frame] = document.schemas[contract.messages[name]!.schema]!.examples as { params: object }[];
        return { ...frame!.params, ...(contract.session && { [contract.session]: "mine" }) };
      };
      for (const name of contract.methods ? Object.keys(contract.channels) : []) {
        const channel = (await client[name]!({})) as RpcLoose;
        for (const [method, { stream, result }] of requests) {
          const made = channel.call(method, paramsOf(method));
          const [example] = document.schemas[result!]!.examples as object[];
          expect(await made).toEqual({ ...example, ...sessionIn(example!, contract) });
          const items: unknown[] = [];
          for await (const item of made) items.push(item);
          expect(items).toHaveLength(stream === undefined ? 0 : 1);
          expect(kit.asked.at(-1)).toMatchObject({ operation: method, input: paramsOf(method) });
        }
        await channel.close();
      }
    });

    test("sends each message of a channel that answers none, and then answers what it is asked", async () => {
      if (contract.methods) return;
      const exchanges = contract.exchanges?.filter(({ by }) => by === "client") ?? [];
      for (const [name, { server, client: sent, open }] of Object.entries(contract.channels)) {
        const example = (message: string) =>
          document.schemas[contract.messages[message]!.schema]!.examples![0] as object;
        const opening = open?.client && { open: example(open.client) };
        const channel = (await call(name, { ...opening })) as AnyChannel;
        const answers = exchanges.flatMap((exchange) => exchange.answers.map(({ message }) => message));
        const wanted = server.filter((one) => !isFault(one) && !answers.includes(one));
        const { until, heard } = play(channel);
        for (const type of wanted) await until(type);
        expect(heard[0]!.type).toBe(open?.server ?? heard[0]!.type);
        for (const { ask, answers } of exchanges) {
          const { action: _, ...fields } = example(ask) as { action?: string };
          expect((await channel.ask({ ...fields, type: ask })).type).toBe(answers[0]!.message);
        }
        await channel.close();
        const asked = exchanges.map(({ ask }) => ask);
        const received = (kit.asked.at(-1) as { received: readonly AnyMessage[] } | undefined)!.received;
        expect(received.map(({ type }) => type)).toEqual([...(open?.client ? [open.client] : []), ...asked]);
        expect(sent).toEqual(expect.arrayContaining(asked));
      }
    });
  },
);

describe("a double", () => {
  test("repeats the key of what it is asked in its answer", async () => {
    const answers = [{ message: "file_uploaded" }];
    const exchanges = [{ ask: "upload_file", by: "client", key: "filename", answers }];
    const contract = { ...based, exchanges } as unknown as typeof based;
    const session = await connect(contract, double(contract)).session();
    for (const filename of ["one", "two"])
      expect(await session.ask({ type: "upload_file", filename, content: "" })).toMatchObject({ filename });
    await session.close();
  });

  test("answers with a list that has something in it, where the contract has such an example", async () => {
    expect((await connect(foldGateway, double(foldGateway)).listAgents()).length).toBeGreaterThan(0);
  });

  test("answers for the session that it is asked for", async () => {
    const agent = connect(emacsAgent, double(emacsAgent));
    expect(await agent.getSession({ session_id: "mine" })).toMatchObject({ session_id: "mine" });
  });

  test("answers by handlers, and knows what it was asked: input and messages, typed", async () => {
    const kit = double(loco, {
      getPolicy: () => {
        throw new Refusal("no such workspace", { status: 404 });
      },
      async stream(_, channel) {
        channel.send({ type: "server.hello", server_info: { version: "1" } });
        for await (const { type } of channel)
          if (type === "client.user_message") channel.send({ type: "assistant.message_final", message: "Done" });
      },
    });
    const agent = connect(loco, kit);
    await expect(agent.getPolicy({ workspace_id: "w" })).rejects.toMatchObject({ status: 404 });
    const session = await agent.stream(
      { session_id: "s" },
      { open: { client_info: { name: "t", version: "0", capabilities: [] } } },
    );
    session.send({ type: "client.user_message", message: "Fix it" });
    await play(session).until("assistant.message_final");
    await session.close();
    const [policy, stream] = kit.asked;
    expect(policy).toMatchObject({ operation: "getPolicy", input: { workspace_id: "w" } });
    if (stream?.operation !== "stream") throw new Error("no stream was asked for");
    const [, prompt] = stream.received;
    expect(prompt?.type === "client.user_message" && prompt.message).toBe("Fix it");
  });

  const long = {
    async *send() {
      for (const text of ["a", "b", "c"]) yield { type: "text", text } as const;
      yield { type: "done", full_response: "abc" } as const;
    },
  };

  test.each([0, 1, 2, 3])("cuts a stream after %s messages: the client has these, and no other", async (after) => {
    const kit = double(foldGateway, long);
    kit.cut({ after });
    const { heard, over } = play(connect(foldGateway, { ...kit, resume: false }).send({ content: "x" }));
    await expect(over).rejects.toBeInstanceOf(Disconnected);
    expect(heard).toHaveLength(after);
    // The next one is whole.
    expect(await connect(foldGateway, kit).send({ content: "x" }).text()).toBe("abc");
  });

  test("resumes a stream that it has cut, as a server does: the client has every message once", async () => {
    const kit = double(foldGateway, long);
    for (const after of [1, 0, 2]) kit.cut({ after });
    const clock = stopClock();
    onTestFinished(clock.start);
    const heard = await clock.until(play(connect(foldGateway, kit).send({ content: "x" })).over);
    expect(heard.map((message) => (message.type === "text" ? message.text : message.type))).toEqual([
      "a",
      "b",
      "c",
      "done",
    ]);
    expect(kit.asked).toHaveLength(1);
  });

  test("cuts a channel after a message, and what is open on demand", async () => {
    const kit = double(based);
    const client = connect(based, { ...kit, resume: false });
    kit.cut({ after: 1 });
    const first = await client.session();
    await expect(play(first).over).rejects.toMatchObject({ code: "closed" });
    const second = await client.session();
    const { until, over } = play(second);
    await until("initial_state");
    kit.cut();
    await expect(over).rejects.toMatchObject({ code: "closed" });
  });

  test("cuts a call that it never answers, and limits pass without waiting", async () => {
    const kit = double(foldGateway, { health: () => new Promise(() => {}) });
    const gateway = connect(foldGateway, { ...kit, retryWaits: [] });
    const cut = gateway.health();
    while (kit.asked.length === 0) await new Promise((resolve) => setImmediate(resolve));
    kit.cut();
    await expect(cut).rejects.toMatchObject({ code: "unreachable" });
    const clock = stopClock();
    onTestFinished(clock.start);
    await expect(clock.until(gateway.health())).rejects.toMatchObject({ code: "timeout" });
  });

  test("can be listened to and cut over a network", async () => {
    for (const after of [0, 2]) {
      const kit = double(foldGateway, long);
      const server = await listen(kit, { port: 0, closeAfter: 0 });
      onTestFinished(server.close);
      kit.cut({ after });
      const gateway = connect(foldGateway, { baseUrl: server.url, resume: false });
      const { heard, over } = play(gateway.send({ content: "x" }));
      await expect(over).rejects.toBeInstanceOf(Disconnected);
      expect(heard).toHaveLength(after);
    }
    const kit = double(based);
    const server = await listen(kit, { port: 0, closeAfter: 0 });
    onTestFinished(server.close);
    const session = await connect(based, { baseUrl: server.url, webSocket, resume: false }).session();
    const { until, over } = play(session);
    await until("initial_state");
    kit.cut();
    await expect(over).rejects.toMatchObject({ code: "closed" });
  });

  test("answers with headers, and says what it has no example of", async () => {
    const headers = { "X-Total": { type: "integer", required: true }, "X-Kind": { type: "string", enum: ["all"] } };
    const answers = { ships: { json: "Ships", headers }, stored: { headers }, paper: { binary: "application/pdf" } };
    const operations = Object.fromEntries(
      Object.entries(answers).map(([name, answer]) => [
        name,
        { method: "GET", path: `/${name}`, transfer: true, answer: { status: 200, ...answer } },
      ]),
    );
    const object = (title: string, more: object) => ({ $id: `/harbor/${title}`, title, type: "object", ...more });
    const harbor = contractValue({
      contract: {
        name: "harbor",
        format: 1,
        tag: { in: "property", property: "type" },
        messages: {},
        operations,
        channels: {},
        fault: { schema: "Fault", text: ["/text"] },
      },
      schemas: {
        Ships: object("Ships", { examples: [{ name: "Daphne" }] }),
        Fault: object("Fault", { examples: [{ text: "no" }] }),
      },
      source: { operations },
      transcripts: {},
      files: {},
    } as unknown as ContractDocument);
    const app = double(harbor);
    const asked = async (path: string) => {
      const answer = await app.fetch(new Request(`http://localhost${path}`));
      return [answer.status, answer.headers.get("x-total"), answer.headers.get("x-kind"), await answer.text()];
    };
    expect(await asked("/ships")).toEqual([200, "1", "all", '{"name":"Daphne"}']);
    expect(await asked("/stored")).toEqual([200, "1", "all", ""]);
    expect(await asked("/paper")).toMatchObject([
      501,
      null,
      null,
      expect.stringContaining("harbor has no example of the bytes that paper answers"),
    ]);
  });

  test("names what it has no example of", async () => {
    const { checks, reads } = await foldGateway.accepts();
    const old = { ...foldGateway, accepts: async () => ({ checks, reads }) };
    const seen: unknown[] = [];
    const gateway = connect(old, double(old, {}, { onError: (error) => seen.push(error) }));
    await expect(gateway.listAgents()).rejects.toMatchObject({ status: 500 });
    expect(seen).toMatchObject([
      { code: "usage", message: "the code of fold-gateway has no examples: generate it again" },
    ]);
  });
});
