import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

/** What the model does, by how many of its tools have answered. */
const TURNS = [
  { name: "read_file", input: { path: "notes.txt" } },
  { name: "edit_files", input: { diff: "--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-old\n+new\n" } },
];

/** A model that speaks the chat API of OpenAI: it reads notes.txt, replaces its text, and says "Done.". */
export async function serveModel() {
  const server = createServer(async (request, response) => {
    const { messages } = (await json(request)) as { readonly messages: readonly { readonly role: string }[] };
    const turn = TURNS[messages.filter(({ role }) => role === "tool").length];
    response.writeHead(200, { "content-type": "text/event-stream" });
    const write = (delta: object, finish_reason: string | null = null) =>
      response.write(`data: ${JSON.stringify({ id: "1", choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    if (turn) {
      const call = { name: turn.name, arguments: JSON.stringify(turn.input) };
      write({ tool_calls: [{ index: 0, id: turn.name, type: "function", function: call }] });
    } else write({ content: "Done.\n" });
    write({}, turn ? "tool_calls" : "stop");
    response.end("data: [DONE]\n\n");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
