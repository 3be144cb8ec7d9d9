import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { compile } from "../compile.js";

const gateway = `
  import { connect } from "@parlance/client";
  import { serve } from "@parlance/server";
  import { foldGateway, type FoldGatewayHandlers, type SendMessage } from "@parlance/protocols/fold-gateway";
  const gateway = connect(foldGateway);
  const quiet = { health: () => "OK", ready: () => "ready", listAgents: () => [] };
`;
const channel = `
  import { connect } from "@parlance/client";
  import { loco, type LoCo, type StreamServerMessage } from "@parlance/protocols/loco";
  const client_info = { name: "x", version: "1", capabilities: [] };
  const channel = await connect(loco).stream({ session_id: "s" }, { open: { client_info } });
`;
const agent = `
  import { serve } from "@parlance/server";
  import { emacsAgent, type EmacsAgentHandlers } from "@parlance/protocols/emacs-agent";
  declare const rest: Omit<EmacsAgentHandlers, "prompt">;
`;

/** Snippet and what the compiler says of it; nothing where it is right. */
const snippets: Record<string, readonly [code: string, error?: RegExp]> = {
  "a payload of the right form": [`${gateway} gateway.send({ content: "hello", agent_id: "1" });`],
  "a payload with a value of the wrong type": [
    `${gateway} gateway.send({ content: 1 });`,
    /'number' is not assignable to type 'string'/,
  ],
  "a payload without a required field": [`${gateway} gateway.send({ sender: "me" });`, /Property 'content' is missing/],
  "a payload with a field that does not exist": [
    `${gateway} gateway.send({ content: "", agent: "1" });`,
    /'agent' does not exist/,
  ],
  "an operation that does not exist": [`${gateway} gateway.sendAll({ content: "" });`, /'sendAll' does not exist/],
  "a field that an answer does not have": [
    `${gateway} (await gateway.listAgents())[0]!.title;`,
    /'title' does not exist/,
  ],
  "an operation without input takes its options first": [
    `${gateway} gateway.health({ signal: AbortSignal.timeout(1) });`,
  ],
  "handlers of the right form, with a yielded literal": [
    `${gateway} serve(foldGateway, { ...quiet, async *send({ content }) {
      yield { type: "text", text: content };
      yield { type: "done", full_response: content };
    } });`,
  ],
  "a handler that yields a message of another name": [
    `${gateway} serve(foldGateway, { ...quiet, async *send() { yield { type: "chat", text: "" }; } });`,
    /'"chat"' is not assignable/,
  ],
  "a handler that yields a message without a field": [
    `${gateway} serve(foldGateway, { ...quiet, async *send() { yield { type: "tool_use", id: "1", name: "ls" }; } });`,
    /'input_json' is missing/,
  ],
  "a handler that is missing": [`${gateway} serve(foldGateway, quiet);`, /Property 'send' is missing/],
  "a handler of an operation that does not exist": [
    `${gateway} serve(foldGateway, { ...quiet, async *send() {}, sendAll() {} });`,
    /'sendAll' does not exist/,
  ],
  "a test's fake is an object literal": [
    `${gateway} const fake: Pick<typeof gateway, "listAgents"> = { listAgents: async () => [] }; fake.listAgents();`,
  ],
  "switching over a message's type narrows it and is exhaustive": [
    `${gateway} export function read(message: SendMessage): string {
      switch (message.type) {
        case "thinking": return message.text;
        case "text": return message.text;
        case "tool_use": return message.input_json;
        case "tool_result": return String(message.is_error);
        case "file": return message.mime_type;
        case "done": return message.full_response;
        case "error": return message.error;
        default: { const none: never = message; return none; }
      }
    }`,
  ],
  "a switch that forgets a message": [
    `${gateway} export function read(message: SendMessage): string {
      switch (message.type) {
        case "thinking": case "text": return message.text;
        case "tool_use": case "tool_result": case "file": case "done": return "";
        default: { const none: never = message; return none; }
      }
    }`,
    /'ErrorMessage' is not assignable to type 'never'/,
  ],
  "a field of another message": [
    `${gateway} for await (const message of gateway.send({ content: "" })) if (message.type === "text") message.full_response;`,
    /'full_response' does not exist/,
  ],
  "a channel sends what the client may send": [
    `${channel} channel.send({ type: "client.user_message", message: "Fix the bug" });`,
  ],
  "a channel does not send what only the server sends": [
    `${channel} channel.send({ type: "assistant.token", token: "a" });`,
    /'"assistant.token"' is not assignable/,
  ],
  "a channel that its message does not open": [
    `${channel} connect(loco).stream({ session_id: "s" });`,
    /Expected 2 arguments, but got 1/,
  ],
  "a client that asks what only the server asks": [
    `${channel} channel.ask({ type: "client.cancel" });`,
    /not assignable to (parameter of )?type/,
  ],
  "an answer has the type of the question": [
    `import { connect } from "@parlance/client";
     import { based } from "@parlance/protocols/based";
     const channel = await connect(based).session();
     const answer = await channel.ask({ type: "list_files" });
     if (answer.type === "file_list") answer.files;`,
  ],
  "a handler asks its session and gets one of the operations that answer": [
    `${agent} serve(emacsAgent, { ...rest, async prompt({ session_id }, call) {
      const answer = await call.session(session_id).ask({ type: "tool.call", tool_call_id: "1", tool: "edit_file", params: {}, requires_approval: true });
      if (answer.type === "reject") answer.tool_call_id;
      return { status: "accepted", agent_state: "idle" };
    } });`,
  ],
  "a session is not asked what is no question": [
    `${agent} serve(emacsAgent, { ...rest, async prompt({ session_id }, call) {
      await call.session(session_id).ask({ type: "message.delta", content: "", role: "assistant" });
      return { status: "accepted", agent_state: "idle" };
    } });`,
    /'"message.delta"' is not assignable to type '"tool.call"'/,
  ],
};

describe("the compiler", () => {
  const { errors } = compile(
    Object.fromEntries(Object.keys(snippets).map((name, index) => [`s${index}`, snippets[name]![0]])),
  );

  test.each(
    Object.entries(snippets).map(
      ([name, [, error]], index) => [error ? "refuses" : "accepts", name, index, error] as const,
    ),
  )("%s %s", (_, __, index, error) => {
    const found = errors[`s${index}`]!;
    if (error === undefined) expect(found).toEqual([]);
    else expect(found.join("\n")).toMatch(error);
  });
});

test("a file that imports one protocol costs the compiler little, and no conditional types", () => {
  const connect = `import { connect } from "@parlance/client";`;
  const before = compile({ one: `${connect} export { connect };` });
  const rows = [
    ["fold-gateway", "foldGateway", `connect(foldGateway).send({ content: "" })`],
    [
      "loco",
      "loco",
      `connect(loco).stream({ session_id: "" }, { open: { client_info: { name: "", version: "", capabilities: [] } } })`,
    ],
  ].map(([name, value, call]) => {
    const { errors, types, instantiations } = compile({
      one: `${connect} import { ${value} } from "@parlance/protocols/${name}"; export const held = await ${call};`,
    });
    expect(errors.one).toEqual([]);
    const source = readFileSync(new URL(`../../src/${name}.ts`, import.meta.url), "utf8");
    expect(source).not.toMatch(/\binfer\b|\bextends\b/);
    return { name, types: types - before.types, instantiations: instantiations - before.instantiations };
  });
  console.table(rows);
  for (const { instantiations } of rows) expect(instantiations).toBeLessThan(5000);
});
