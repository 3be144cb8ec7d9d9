import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "@parlance/client";
import { runCases } from "@parlance/conformance/node";
import { compat } from "@parlance/language/compat";
import { docs } from "@parlance/language/generate";
import { importContract } from "@parlance/language/import";
import { lint } from "@parlance/language/lint";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { serve } from "@parlance/server";
import type { AnyContract } from "@parlance/wire";
import { afterEach, describe, expect, it } from "vitest";
import { caller } from "../../../../examples/conformance/caller.js";
import { listenFixture } from "../../../../examples/conformance/fixture.js";
import { suiteOf } from "../../../conformance/src/cases.js";
import { schema, string } from "./message-files.js";

// Paths with text beside a parameter, as Google's custom methods, A2A and files with an extension have them.

const operation = (method: string, path: string) => ({
  method,
  path,
  summary: `${method} ${path}.`,
  parameters: { id: { in: "path", type: "string", description: "Which." } },
  answer: { status: 200, json: "messages/found.json" },
});
const paths = {
  task: ["GET", "/tasks/{id}"],
  cancel: ["POST", "/tasks/{id}:cancel"],
  own: ["POST", "/tasks/own:cancel/{id}"],
  file: ["GET", "/files/{id}.json"],
  archive: ["GET", "/files/{id}.tar.json"],
  version: ["GET", "/v{id}/models"],
} as const;
type Name = keyof typeof paths;
const names = Object.keys(paths) as Name[];

const folder = (operations: object = {}) => ({
  name: "tasks",
  files: {
    "contract.json": JSON.stringify({
      format: 1,
      name: "tasks",
      title: "Tasks",
      url: "http://localhost:1",
      tag: { in: "event" },
      messages: {},
      operations: {
        ...Object.fromEntries(names.map((name) => [name, operation(paths[name][0], paths[name][1])])),
        ...operations,
      },
      channels: {},
      fault: { schema: "messages/fault.json", text: ["/error"] },
    }),
    "messages/found.json": schema("Found", { call: string, id: string }, { call: "task", id: "1" }),
    "messages/fault.json": schema("FaultBody", { error: string }, { error: "no" }),
  },
});
const document = assemble(folder());
const tasks = contractValue(document);

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function served() {
  const handlers = names.map((call) => [call, ({ id }: { id: string }) => ({ call, id })] as const);
  const app = serve(tasks, Object.fromEntries(handlers));
  closing.push(() => app.close());
  return app;
}

describe("text beside a parameter in a path", () => {
  it.each<[name: Name, id: string, target: string]>([
    ["task", "1", "/tasks/1"],
    ["task", "1:cancel", "/tasks/1%3Acancel"],
    ["cancel", "1", "/tasks/1:cancel"],
    ["cancel", "a/b:cancel ü", "/tasks/a%2Fb%3Acancel%20%C3%BC:cancel"],
    ["own", "1", "/tasks/own:cancel/1"],
    ["file", "a", "/files/a.json"],
    ["archive", "a", "/files/a.tar.json"],
    ["version", "1beta", "/v1beta/models"],
  ])("is sent to a plain server, and told apart by ours: %s of %s", async (name, id, target) => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(request.url!);
      response.setHeader("Content-Type", "application/json").end('{"call":"x","id":"y"}');
    }).listen(0, "127.0.0.1");
    closing.push(() => server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    await connect(tasks, { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })[name]({ id });
    expect(seen).toEqual([target]);
    const app = served();
    expect(await connect(tasks, { fetch: app.fetch as typeof fetch })[name]({ id })).toEqual({ call: name, id });
    const answer = await app.fetch(new Request(`http://localhost:1${target}`, { method: paths[name][0] }));
    expect(await answer.json()).toEqual({ call: name, id });
  });

  it.each<[method: string, target: string, status: number]>([
    ["GET", "/tasks/1:cancel", 405],
    ["POST", "/tasks/1", 405],
    ["GET", "/files/a", 404],
    ["GET", "/files/.json", 404],
    ["GET", "/v/models", 404],
  ])("is missing or has another method: %s %s", async (method, target, status) => {
    expect((await served().fetch(new Request(`http://localhost:1${target}`, { method }))).status).toBe(status);
  });

  it("passes lint, and is refused where two paths fit and neither is narrower", async () => {
    expect(await lint(folder())).toEqual([]);
    const [finding, ...others] = await lint(folder({ next: operation("POST", "/tasks/next-{id}") }));
    expect(others).toEqual([]);
    expect(finding!.message).toContain("/tasks/next-{id} is also the route of cancel (/tasks/{id}:cancel)");
  });

  it("is in the OpenAPI document, and imported from one", async () => {
    const text = Object.entries(docs(document)).find(([file]) => file.includes("openapi"))![1];
    const written = JSON.parse(text).paths as Record<string, object>;
    expect(Object.keys(written)).toEqual(names.map((name) => paths[name][1]));
    const { files } = await importContract(text, { name: "tasks", origin: "itself" });
    const { operations } = JSON.parse(files["contract.json"]!);
    expect(operations.cancel).toMatchObject({ path: "/tasks/{id}:cancel", parameters: { id: { in: "path" } } });
  });

  it("is a change of the path for compat", () => {
    const now = assemble(folder({ cancel: operation("POST", "/tasks/{id}:stop") }));
    expect(compat(document, now).map(({ what, breaks }) => [what, breaks])).toEqual([
      ["the path /tasks/{id}:cancel was removed; the path is now /tasks/{id}:stop", ["client"]],
      ["the path /tasks/{id}:stop was added", []],
    ]);
  });

  it("has cases of conformance that our server and client pass", async () => {
    const suite = await suiteOf(document, contractValue);
    const server = await listenFixture(tasks as AnyContract);
    closing.push(() => server.close());
    const cases = [...suite.server, ...suite.client].filter(({ id }) => /\/(input|request|method)\b/.test(id));
    expect(cases.length).toBeGreaterThan(2 * names.length);
    const results = await runCases(suite, cases, { server, client: caller(tasks as AnyContract) });
    expect(results.filter(({ outcome }) => outcome !== "passed").map(({ id }) => id)).toEqual([]);
  });
});
