import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { type Double, double } from "@parlance/server/testing";
import type { AnyContract } from "@parlance/wire";
import { describe, expect, onTestFinished, test } from "vitest";
import { Conversations } from "../../src/conversation.js";
import { read } from "../../src/read.js";
import type { Entry } from "../../src/recording.js";
import { replayClient } from "../../src/replay/client.js";
import { loadRecording } from "../../src/replay/loaded.js";
import { formatProblem } from "../../src/replay/replay.js";
import { ReplayServer } from "../../src/replay/server.js";
import { record } from "../../src/tap.js";
import { type Finding, Verifier } from "../../src/verify.js";

const gateway = () =>
  double(foldGateway, {
    async *send() {
      for (const text of ["0", "1", "2"]) yield { type: "text", text };
      yield { type: "done", full_response: "012" };
    },
  });
const session = () =>
  double(loco, {
    async stream(_, channel) {
      channel.send({ type: "server.hello", server_info: { version: "1" } });
      for await (const { type } of channel)
        if (type === "client.user_message")
          for (const token of ["a", "b", "c"]) channel.send({ type: "assistant.token", token });
    },
  });

type App = Pick<Double<unknown>, "fetch" | "webSocket">;

/** What a client does on each contract, with its messages. */
const conversations = {
  "a stream": {
    contract: foldGateway as unknown as AnyContract,
    server: gateway as () => Double<unknown>,
    cutAfter: 2,
    async talk(app: App): Promise<string[]> {
      const heard: string[] = [];
      const client = connect(foldGateway, { ...app, retryWaits: [1] });
      for await (const message of client.send({ content: "x" }))
        heard.push(message.type === "text" ? message.text : message.type);
      return heard;
    },
  },
  "a channel": {
    contract: loco as unknown as AnyContract,
    server: session as () => Double<unknown>,
    cutAfter: 3,
    async talk(app: App): Promise<string[]> {
      const open = { client_info: { name: "t", version: "1", capabilities: [] } };
      const channel = await connect(loco, { ...app, retryWaits: [1] }).stream({ session_id: "s" }, { open });
      channel.send({ type: "client.user_message", message: "Hi" });
      const heard: string[] = [];
      for await (const message of channel) {
        heard.push(message.type === "assistant.token" ? message.token : message.type);
        if (heard.length === 4) break;
      }
      await channel.close();
      return heard;
    },
  },
} as const;

async function findingsIn(contract: AnyContract, bytes: Uint8Array[], keep = (_: Entry) => true): Promise<Finding[]> {
  const findings: Finding[] = [];
  const verifier = new Verifier(new Conversations(contract, await contract.accepts()), (one) => findings.push(one));
  const { lines } = await read(bytes, { onEntry: (entry, line) => keep(entry) && verifier.entry(entry, line) });
  verifier.end(lines, false);
  return findings;
}

describe.each(Object.entries(conversations))(
  "%s that was cut and resumed",
  (_, { contract, server, cutAfter, talk }) => {
    async function recorded() {
      const app = server();
      onTestFinished(() => app.close());
      app.cut({ after: cutAfter });
      const recording = record(app, { contract });
      const heard = await talk(recording);
      const conversation = await loadRecording(recording.bytes());
      expect(recording.text()).toContain('"kind":"error"');
      expect(recording.text()).toMatch(/last-event-id/i);
      return { recording, heard, conversation };
    }

    test("fits its contract: the requests that resume it are no unknown ones, and its cut is no missing end", async () => {
      const { recording } = await recorded();
      expect(await findingsIn(contract, recording.bytes())).toEqual([]);
    });

    test("lacks its end if it was not resumed", async () => {
      const { recording } = await recorded();
      let cut = false;
      const untilCut = ({ kind }: Entry) => {
        const before = !cut;
        cut ||= kind === "error";
        return before;
      };
      expect((await findingsIn(contract, recording.bytes(), untilCut)).map(({ rule }) => rule)).toEqual(["end"]);
    });

    test("is replayed as the client to a live server, which has an epoch, ids and tickets of its own", async () => {
      const { recording, conversation } = await recorded();
      const live = server();
      onTestFinished(() => live.close());
      const seen = record(live, { contract, redact: false });
      const problems = await replayClient(conversation, { contract, fetch: seen.fetch, webSocket: seen.webSocket });
      expect(problems.map(formatProblem)).toEqual([]);
      const text = seen.text();
      expect(text).toMatch(/last-event-id/i);
      for (const { epoch } of [...recording.text().matchAll(/"parlance-resume","(?<epoch>[\w-]+);/gi)].map(
        ({ groups }) => groups as { epoch: string },
      ))
        expect(text).not.toContain(epoch);
    });

    test("is replayed as the server to a live client, which resumes it by a key of its own", async () => {
      const { conversation, heard } = await recorded();
      const replay = new ReplayServer(conversation, { contract });
      expect(await talk(replay)).toEqual(heard);
      expect(replay.close().map(formatProblem)).toEqual([]);
    });
  },
);
