import { connect } from "@parlance/client";
import { webSocket } from "@parlance/client/node";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { agentsmithy1_13 } from "@parlance/protocols/agentsmithy-1.13";
import { based } from "@parlance/protocols/based";
import { type Apps, fetchOf, serve } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";

/** An agent in the document's words and in those of its program, and one that says its name on a channel. */
function agents(name = "based") {
  const document = serve(agentsmithy, {
    async *chat() {
      yield { type: "content", content: "document" };
      yield { type: "done" };
    },
    complete: () => ({ content: "document", diffs: [], done: true }),
  });
  const program = serve(agentsmithy1_13, {
    async *chat() {
      yield { type: "chat", content: "program" };
      yield { type: "done", done: true };
    },
    complete: () => ({ content: "program", done: true }),
    health: () => ({ status: "ok", service: "program" }),
  } as never);
  const channel = serve(based, {
    async session(_: unknown, channel: { send(message: object): void } & AsyncIterable<{ type: string }>) {
      channel.send({ type: "initial_state", files: [], activeFile: name });
      for await (const _ of channel);
    },
  } as never);
  onTestFinished(() => {
    for (const app of [document, program, channel]) app.close();
  });
  return { document, program, channel };
}

async function listening(apps: Apps): Promise<string> {
  const server = await listen(apps, { port: 0, closeAfter: 0 });
  onTestFinished(() => server.close());
  return server.url;
}

const input = { messages: [{ role: "user", content: "hi" }] };
const said = async (baseUrl: string, path: string, headers?: Record<string, string>) => {
  const body = JSON.stringify({ ...input, stream: false });
  const answer = await fetch(`${baseUrl}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body,
  });
  return answer.ok ? ((await answer.json()) as { content: string }).content : answer.status;
};

describe("Several apps at one address", () => {
  test("stand below paths of their own, for operations, streams and sockets", async () => {
    const { document, program } = agents();
    const [one, two] = [agents("one").channel, agents("two").channel];
    const url = await listening([
      document,
      { app: program, path: "/v1.13" },
      { app: one, path: "/one" },
      { app: two, path: "/one/two" },
    ]);
    expect(await connect(agentsmithy, { baseUrl: url }).chat(input).text()).toBe("document");
    const client = connect(agentsmithy1_13, { baseUrl: `${url}/v1.13` });
    expect(await client.chat(input).text()).toBe("program");
    expect(await client.health()).toMatchObject({ service: "program" });
    expect(await said(url, "/v1.13x/api/chat")).toBe(404);
    expect(await said(url, "/v1.13")).toBe(404);
    for (const [path, name] of [
      ["/one", "one"],
      ["/one/two", "two"],
    ]) {
      const channel = await connect(based, { baseUrl: `${url}${path}`, webSocket }).session();
      for await (const message of channel) {
        expect(message).toMatchObject({ type: "initial_state", activeFile: name });
        break;
      }
    }
  });

  test("of the same paths are told apart by what the request shows", async () => {
    const { document, program } = agents();
    const when = (request: Request) => request.headers.get("X-Client")?.startsWith("editor/") === true;
    const url = await listening([{ app: program, when }, document]);
    expect(await said(url, "/api/chat", { "X-Client": "editor/1.13" })).toBe("program");
    expect(await said(url, "/api/chat", { "X-Client": "other" })).toBe("document");
    expect(await said(url, "/api/chat")).toBe("document");
  });

  test("answer by fetch as by a port", async () => {
    const { document, program } = agents();
    const answer = fetchOf([document, { app: program, path: "/v1.13" }]);
    expect(await connect(agentsmithy, { fetch: answer, baseUrl: "http://localhost" }).chat(input).text()).toBe(
      "document",
    );
    expect(
      await connect(agentsmithy1_13, { fetch: answer, baseUrl: "http://localhost/v1.13" }).chat(input).text(),
    ).toBe("program");
    expect((await answer(new Request("http://localhost/none"))).status).toBe(404);
  });

  test("are answered though a `when` throws, which is printed", async () => {
    const printed = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => printed.mockRestore());
    const { document, program } = agents();
    const mistake = new Error("a mistake");
    const when = () => {
      throw mistake;
    };
    expect(await said(await listening([{ app: program, when }, document]), "/api/chat")).toBe("document");
    expect(printed.mock.calls).toEqual([[mistake]]);
  });

  test.each(["v1", "/v1/", "/", "", "/a//b", "/v1?x"])("cannot stand below %j", (path) => {
    expect(() => fetchOf([{ app: agents().document, path }])).toThrow(/is not a path to stand below/);
  });
});
