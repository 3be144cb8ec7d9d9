import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { foldGateway, type SendMessage } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { expect, test } from "vitest";

/** An app that says `count` texts and counts how often its handler has run, and a fetch that cuts every body after `bytes`. */
function cutting(count: number, cuts: readonly number[]) {
  const seen = { runs: 0, requests: [] as string[], aborted: 0 };
  const app = serve(foldGateway, {
    health: () => "OK",
    ready: () => "ready",
    listAgents: () => [],
    async *send(_, call) {
      seen.runs++;
      call.signal.addEventListener("abort", () => seen.aborted++);
      for (let i = 0; i < count; i++) yield { type: "text", text: `${i} ` };
      yield { type: "done", full_response: "all" };
    },
  });
  let next = 0;
  const fetch = async (request: Request): Promise<Response> => {
    seen.requests.push(request.method);
    const response = await app.fetch(request);
    const limit = cuts[next++];
    if (limit === undefined || !response.body) return response;
    let left = limit;
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        controller.enqueue(chunk.subarray(0, left));
        left -= chunk.length;
        if (left <= 0) controller.terminate();
      },
    });
    return new Response(response.body.pipeThrough(cut), response);
  };
  return { seen, gateway: connect(foldGateway, { fetch, random: () => 0 }) };
}

const texts = (messages: readonly SendMessage[]) =>
  messages.flatMap((message) => (message.type === "text" ? [message.text] : []));

test("a stream of 40 messages that is cut at any byte is delivered once and in order, by one run of its handler", async () => {
  const wanted = Array.from({ length: 40 }, (_, i) => `${i} `);
  for (let at = 0; at < 1800; at += 7) {
    const { gateway, seen } = cutting(40, [at, (at * 31) % 900]);
    const got: SendMessage[] = [];
    for await (const message of gateway.send({ content: "go" })) got.push(message);
    expect(texts(got), `cut at ${at}`).toEqual(wanted);
    expect(seen.runs).toBe(1);
    expect(seen.requests.filter((method) => method === "POST")).toHaveLength(1);
  }
});

/** A based app that counts, and sockets that are cut after so many frames from the server. */
function cuttingSockets(cuts: readonly number[]) {
  const seen = { sessions: 0, heard: [] as string[], sockets: 0 };
  const app = serve(
    based,
    {
      async session(_, channel) {
        seen.sessions++;
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const message of channel) {
          if (message.type !== "upload_file") continue;
          seen.heard.push(message.filename);
          channel.send({ type: "file_uploaded", filename: message.filename, files: [] });
        }
      },
    },
    { grace: 2000 },
  );
  const webSocket: typeof app.webSocket = async (url, init) => {
    const socket = await app.webSocket(url, init);
    if ("refused" in socket) return socket;
    const limit = cuts[seen.sockets++];
    let frames = 0;
    return {
      ...socket,
      listen(on) {
        socket.listen({
          close: on.close,
          frame(text) {
            if (limit !== undefined && frames === limit) {
              socket.close(1006, "");
              return;
            }
            if (limit !== undefined && frames > limit) return;
            frames++;
            on.frame(text);
          },
        });
      },
    };
  };
  return { seen, agent: connect(based, { fetch: app.fetch, webSocket, random: () => 0 }) };
}

test("a channel that is cut anywhere goes on: each message once and in order, both ways, in one session", async () => {
  for (let first = 0; first < 12; first++) {
    const { agent, seen } = cuttingSockets([first, 3, 5, 2, 7]);
    await using session = await agent.session();
    const names = Array.from({ length: 20 }, (_, i) => `file-${i}`);
    const answers = [];
    for (const filename of names) answers.push(await session.ask({ type: "upload_file", filename, content: "" }));
    expect(
      answers.map((answer) => "filename" in answer && answer.filename),
      `cut after ${first}`,
    ).toEqual(names);
    expect(seen.heard).toEqual(names);
    expect(seen.sessions).toBe(1);
    expect(seen.sockets).toBeGreaterThan(3);
  }
});
