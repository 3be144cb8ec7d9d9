import { connect } from "@parlance/client";
import { agentsmithy } from "@parlance/protocols/agentsmithy";
import { based } from "@parlance/protocols/based";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { type Flaw, Violation } from "@parlance/wire";
import { expect, test } from "vitest";
import { describe as say } from "../../../wire/src/errors.js";

const flaw = (at: string, keyword: string, params: Record<string, unknown>): Flaw => ({ at, keyword, params });
const missing = (name: string, at = "") => flaw(at, "required", { missingProperty: name });

test.each<[readonly Flaw[], string]>([
  [[missing("diffs")], "`diffs` is missing"],
  [[missing("path", "/context/current_file")], "`context.current_file.path` is missing"],
  [[flaw("/line", "type", { type: "integer" })], "`line` must be integer"],
  [[flaw("/title", "type", { type: ["string", "null"] })], "`title` must be string or null"],
  [[flaw("/role", "enum", { allowedValues: ["user", "agent"] })], "`role` must be user or agent"],
  [[flaw("/done", "const", { allowedValue: true })], "`done` must be true"],
  [[flaw("/line", "minimum", { comparison: ">=", limit: 1 })], "`line` breaks minimum >= 1"],
  [[flaw("/at", "format", { format: "date-time" })], "`at` breaks format date-time"],
  [[flaw("", "type", { type: "object" })], "the body must be object"],
  [["a", "b", "c"].map((name) => missing(name)), "`a` is missing, `b` is missing, `c` is missing"],
  [["a", "b", "c", "d", "e"].map((name) => missing(name)), "`a` is missing, `b` is missing, `c` is missing, 2 more"],
])("the flaws %j are worded as %s", (flaws, words) => {
  expect(say(flaws)).toBe(words);
});

test("an answer that breaks its schema names the property, the operation and the side", async () => {
  const json = new Response('{"done":true}', { headers: { "Content-Type": "application/json" } });
  const client = connect(agentsmithy, { baseUrl: "http://localhost:1", fetch: async () => json });
  const violation = await client.complete({ messages: [] }).catch((error: unknown) => error);
  expect(violation).toBeInstanceOf(Violation);
  expect((violation as Violation).message).toBe(
    "agentsmithy: `content` is missing in the answer of complete (from the server)",
  );
  expect((violation as Violation).flaws).toEqual([missing("content")]);
});

test("a body that breaks its schema is a 400 in the same words", async () => {
  const app = serve(foldGateway, { health: () => "", ready: () => "", listAgents: () => [], async *send() {} });
  const body = new Request("http://localhost/api/send", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: "{}",
  });
  const response = await app.fetch(body);
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("`content` is missing in the input of send (from the client)");
  await app.close();
});

test("a server's channel refuses to send what breaks its schema, in the same words", async () => {
  let refused: unknown;
  const app = serve(based, {
    session: (_, channel) => {
      try {
        channel.send({ type: "file_list" } as never);
      } catch (error) {
        refused = error;
      }
    },
  });
  const channel = await connect(based, { fetch: app.fetch, webSocket: app.webSocket }).session();
  await channel.closed.catch(() => {});
  expect(String(refused)).toBe("Violation: based: `files` is missing in the message file_list (from the server)");
  await app.close();
});
