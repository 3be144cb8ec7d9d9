import { readFileSync } from "node:fs";
import { connect } from "@parlance/client";
import { type ServeOptions, serve } from "@parlance/server";
import { type AnyContract, type AnyMessage, codec } from "@parlance/wire";
import { expect, it } from "vitest";
import { agentsmithy } from "../../src/agentsmithy.js";
import { based } from "../../src/based.js";
import { emacsAgent } from "../../src/emacs-agent.js";
import { foldGateway } from "../../src/fold-gateway.js";
import { loco } from "../../src/loco.js";
import { overEachCarrier } from "./carriers.js";

// Every sample that a document prints goes from a client to a server, or back, by the operation, stream or channel that the document gives it.

type Fields = Readonly<Record<string, unknown>>;
type Stream = AsyncIterable<AnyMessage> & { cancel(): void };
type Channel = AsyncIterable<AnyMessage> & { send(message: AnyMessage): unknown; close(): Promise<void> };
type Client = Readonly<Record<string, (input: object, options?: object) => unknown>>;

/** The server's next input, and the message that it sends then. */
interface Stage {
  heard?: unknown;
  says?: unknown;
  /** Whether more follows the client's opening message. */
  waits?: boolean;
}

const contracts: readonly AnyContract[] = [agentsmithy, based, emacsAgent, foldGateway, loco];
const input = { session_id: "s", workspace_id: "w" };

/** A server that answers everything with what is on stage. */
function serving(contract: AnyContract, stage: Stage) {
  const operations = Object.entries(contract.operations).map(([name, { answer }]) => {
    if (!answer.stream) {
      const answered = (heard: unknown) => {
        stage.heard = heard;
        return stage.says;
      };
      return [name, answered];
    }
    async function* streamed(heard: unknown) {
      stage.heard = heard;
      yield stage.says;
    }
    return [name, streamed];
  });
  const channels = Object.entries(contract.channels).map(([name, { open }]) => {
    const opening = { type: open?.server, files: [], activeFile: null, server_info: { version: "1" } };
    return [
      name,
      async (_: unknown, channel: Channel) => {
        if ((stage.says as AnyMessage | undefined)?.type !== open?.server) channel.send(opening as AnyMessage);
        if (stage.says) channel.send(stage.says as AnyMessage);
        for await (const message of channel) {
          stage.heard = message;
          if (message.type !== open?.client || !stage.waits) await channel.close();
        }
      },
    ];
  });
  const options: ServeOptions = { allowAnonymous: true, onError: false };
  return serve(contract as never, Object.fromEntries([...operations, ...channels]) as never, options);
}

interface Sample {
  readonly at: string;
  readonly says?: string;
  readonly json: Fields;
}

/** The sample as a message in memory. */
async function messageOf(
  contract: AnyContract,
  name: string,
  names: readonly string[],
  of: "client" | "server",
  json: Fields,
) {
  const { checks, reads } = of === "client" ? await contract.accepts() : contract;
  const { decode } = codec(contract, { side: of, names, checks, reads });
  const read = decode({ event: contract.tag.in === "event" ? name : undefined, data: JSON.stringify(json) });
  return "message" in read ? read.message : expect.fail(`${name} is unknown`);
}

for (const contract of contracts) {
  const file = new URL(`../documents/${contract.name}.jsonl`, import.meta.url);
  const samples = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Sample);

  overEachCarrier(`The samples of ${contract.name}`, (carrier) => {
    for (const [index, { at, says, json }] of samples.entries()) {
      const title = `sample ${index + 1}, under "${at}",`;
      const calls = Object.entries(contract.operations);
      const name = Object.keys(contract.messages).find((one) => contract.messages[one]!.schema === says);
      const body = calls.find(([, operation]) => says !== undefined && operation.body === says);
      const answered = calls.find(([, { answer }]) => says !== undefined && answer.json === says);
      const streamed = calls.find(([, { answer }]) => name !== undefined && answer.stream?.messages.includes(name));
      const [channel] = Object.entries(contract.channels);
      const stage: Stage = {};
      const opened = async (): Promise<Client> => {
        const app = serving(contract, stage);
        return connect(contract as never, { ...(await carrier(app)), retryWaits: [], resume: false }) as Client;
      };

      if (body)
        it(`${title} reaches the handler of ${body[0]}`, async () => {
          const client = await opened();
          const sent = client[body[0]]!({ ...input, ...json }) as Promise<unknown> & { opened?: Promise<void> };
          await (sent.opened ?? sent).catch(() => {});
          // A constant of the operation is no part of its input.
          const { stream: _, ...rest } = json;
          expect(stage.heard).toMatchObject(contract.name === "agentsmithy" ? rest : json);
        });
      if (answered)
        it(`${title} is the answer of ${answered[0]}`, async () => {
          stage.says = json;
          const asked = samples.find((sample) => sample.says !== undefined && sample.says === answered[1].body);
          expect(await (await opened())[answered[0]]!({ ...input, ...asked?.json })).toEqual(json);
        });
      if (name !== undefined && streamed)
        it(`${title} is read from the stream of ${streamed[0]}`, async () => {
          stage.says = await messageOf(contract, name, streamed[1].answer.stream!.messages, "server", json);
          const stream = (await opened())[streamed[0]]!({
            ...input,
            messages: [{ role: "user", content: "x" }],
            content: "x",
          }) as Stream;
          for await (const message of stream) {
            expect(message).toEqual(stage.says);
            return stream.cancel();
          }
          expect.fail("nothing was read");
        });
      if (name === undefined || !channel) continue;
      const [, { client: clients, server: servers, open }] = channel;
      const first =
        open?.client === undefined ? {} : { open: { client_info: { name: "x", version: "1", capabilities: [] } } };
      if (servers.includes(name))
        it(`${title} is read from the channel`, async () => {
          stage.says = await messageOf(contract, name, servers, "server", json);
          // A tag's constants are no part of the message in memory.
          if (contract.tag.in === "shape") expect(stage.says).not.toHaveProperty("status");
          const session = (await (await opened())[channel[0]]!(input, first)) as Channel;
          for await (const message of session) {
            if (message.type !== name) continue;
            expect(message).toEqual(stage.says);
            return session.close();
          }
          expect.fail("nothing was read");
        });
      if (clients.includes(name))
        it(`${title} is heard on the channel`, async () => {
          const message = await messageOf(contract, name, clients, "client", json);
          const { type: _, ...opening } = message;
          stage.waits = name !== open?.client;
          const session = (await (
            await opened()
          )[channel[0]]!(input, name === open?.client ? { open: opening } : first)) as Channel;
          if (name !== open?.client) session.send(message);
          for await (const _ of session);
          expect(stage.heard).toEqual(message);
        });
    }
  });
}
