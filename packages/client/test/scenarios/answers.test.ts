import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { AnyContract } from "@parlance/wire";
import { describe, expect, it } from "vitest";

interface Client {
  call(): Promise<unknown>;
}

/** What a call makes of an answer, where its operation declares another. */
async function outcome(declared: object, answer: () => Response): Promise<string> {
  const call = { method: "PUT", path: "/call", answer: declared, ...("binary" in declared && { transfer: true }) };
  const contract = { ...(foldGateway as unknown as AnyContract), operations: { call } } as never;
  const client = connect<Client>(contract, { baseUrl: "http://x", retryWaits: [], fetch: async () => answer() });
  return client.call().then(
    () => "success",
    ({ name, code, message }) => `${name} ${code}: ${message}`,
  );
}

const cut = () =>
  new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode("<html>")),
    pull: (controller) => controller.error(new Error("cut")),
  });

describe("An operation with an empty answer", () => {
  const page = "<title>Sign in</title>";
  it.each<[string, BodyInit | null, number, string, string]>([
    ["nothing", null, 204, "", "success"],
    ["nothing", null, 200, "", "success"],
    ["nothing", "", 201, "application/json", "success"],
    ["nothing, called HTML", "", 200, "text/html; charset=utf-8", "success"],
    ["a word that the contract does not define", "{}", 200, "application/json", "success"],
    ["a page", page, 200, "text/html", "Violation content_type"],
    ["a page", page, 201, "Text/HTML; charset=utf-8", "Violation content_type"],
    ["a page that is cut", cut(), 200, "text/html", "Violation content_type"],
  ])("that is answered with %s (%j, %i, %s) is %s", async (_, body, status, type, expected) => {
    const headers: Record<string, string> = type ? { "Content-Type": type } : {};
    const found = await outcome({ status: 204 }, () => new Response(body, { status, headers }));
    expect(found).toContain(expected);
    if (body === page) expect(found).toContain('call is answered with text/html, "Sign in", where nothing is declared');
  });
});

describe("A download", () => {
  const json = ["application/json", "text/plain", "text/html"];
  it.each([
    ["application/octet-stream", ["application/octet-stream"], [...json, "image/png", ""]],
    ["image/png", ["image/png", "IMAGE/PNG"], [...json, "application/octet-stream"]],
    ["text/csv", ["text/csv; charset=utf-8", "text/plain"], ["text/html", "image/png"]],
    ["application/json", ["application/json"], ["text/html", "image/png"]],
  ])("of %s may be called %j, and is refused as %j", async (binary, right, wrong) => {
    const called = (type: string) => () =>
      new Response(new TextEncoder().encode("{}"), { headers: type ? { "Content-Type": type } : {} });
    for (const type of right) expect([type, await outcome({ binary }, called(type))]).toEqual([type, "success"]);
    for (const type of wrong) expect(await outcome({ binary }, called(type))).toMatch(/^Violation content_type/);
  });
});

describe("A refusal", () => {
  const silent = ["null", "{}", "[]", '""', '{"error":null}', '{"error":""}', '{"error":null,"code":""}'];
  it.each<[string, string]>([
    ...silent.map((body): [string, string] => [body, "status 404 without a reason"]),
    ["", "status 404"],
    [" ", "status 404"],
    ["no such thing", "no such thing"],
    ['{"error":"no"}', "no"],
    ['{"detail":"no"}', '{"detail":"no"}'],
    ['{"error":{"text":"no"}}', '{"error":{"text":"no"}}'],
  ])("whose body is %j says: %s", async (body, message) => {
    const found = await outcome({ json: "Agents" }, () => new Response(body, { status: 404 }));
    expect(found).toBe(`Refusal status_404: ${message}`);
  });
});

it.each([
  [200, "Disconnected", "unreachable", "based.session: http://x/ws answered 200, not a socket"],
  [302, "Disconnected", "unreachable", "based.session: http://x/ws answered 302, not a socket"],
  [403, "Refusal", "status_403", "status 403"],
  [502, "Refusal", "status_502", "status 502"],
])("a handshake that is answered with a page of status %i is %s", async (status, name, code, message) => {
  const webSocket = async () => ({ refused: { status, body: "<html>" } });
  const opened = connect(based, { baseUrl: "http://x", webSocket, resume: false }).session();
  await expect(opened).rejects.toMatchObject({ name, code, message });
});

it("a call that is not answered in time names itself and the limit in whole milliseconds; a POST may have been received", async () => {
  const options = { baseUrl: "http://x", answerTimeout: 12.7, fetch: () => new Promise<never>(() => {}) };
  await expect(connect(foldGateway, options).listAgents()).rejects.toMatchObject({
    code: "timeout",
    retryable: true,
    message: "fold-gateway.listAgents: nothing came within 13 ms",
  });
  await expect(connect(emacsAgent, options).prompt({ session_id: "s", text: "go" })).rejects.toMatchObject({
    code: "timeout",
    retryable: false,
    message: "emacs-agent.prompt: nothing came within 13 ms",
  });
});

it("an answer whose body stays away is idle, and the error names the call", async () => {
  const body = new ReadableStream();
  const fetch = async () => new Response(body, { headers: { "Content-Type": "application/json" } });
  await expect(connect(foldGateway, { fetch, idleTimeout: 20 }).listAgents()).rejects.toMatchObject({
    code: "idle",
    retryable: false,
    message: "fold-gateway.listAgents: nothing came within 20 ms",
  });
});

it("a socket that could not be opened may be tried again", async () => {
  const webSocket = () => Promise.reject(new Error("offline"));
  const opened = connect(based, { baseUrl: "http://x", webSocket, resume: false }).session();
  await expect(opened).rejects.toMatchObject({ code: "unreachable", retryable: true });
});
