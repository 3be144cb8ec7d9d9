import { type ConnectOptions, connect, Disconnected, Refusal, Violation } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { coven } from "@parlance/protocols/coven";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { loco } from "@parlance/protocols/loco";
import { misuse, type Port, type PortEvents } from "@parlance/wire";
import { describe, expect, it } from "vitest";

// Errors are logged line by line, and shown to users. Whatever a peer, a proxy or a user's own function writes, a message is one line that
// begins with the cause, and the rest is in the details.

const MAX_MESSAGE = 620;

const page = `<!doctype html>\n<html>\n<title>\n502 Bad Gateway\n</title>\n${"<p>nginx</p>\n".repeat(1000)}</html>`;
const json = JSON.stringify({ detail: Array.from({ length: 100 }, (_, i) => ({ loc: ["body", i], msg: "a\nb" })) });
const trace = `Traceback (most recent call last):\n${"  File x\r\n".repeat(200)}KeyError: 'x'\n`;
const long = "x".repeat(10_000);

const answering = (body: string, init: ResponseInit): ConnectOptions => ({
  fetch: async () => new Response(body, init),
  baseUrl: "http://agent.test",
  retryWaits: [],
  reconnectFor: 0,
  resume: false,
});
const typed = (type: string, status = 200): ResponseInit => ({ status, headers: { "Content-Type": type } });
const events = (text: string) => answering(text, typed("text/event-stream"));
const failing = (cause: unknown): ConnectOptions => ({
  ...answering("", {}),
  fetch: async () => {
    throw cause;
  },
});

const agents = (options: ConnectOptions) => connect(foldGateway, options).listAgents();
const text = (options: ConnectOptions) => connect(foldGateway, options).send({ content: "x" }).text();
const history = (options: ConnectOptions) => connect(coven, options).usageStats({ agent_id: long });

/** A channel whose server sends one frame, or closes it. */
function channel(act: (events: PortEvents) => void): Promise<unknown> {
  const port: Port = {
    send() {},
    close() {},
    listen: (on) => queueMicrotask(() => act(on)),
  };
  return connect(based, { ...answering("", {}), webSocket: async () => port })
    .session()
    .then(async (session) => {
      for await (const message of session) if (message.type === "error") return;
      await session.closed;
    });
}
const refused = (body: string) => () =>
  connect(based, { ...answering("", {}), webSocket: async () => ({ refused: { status: 502, body } }) }).session();

interface Case {
  readonly what: string;
  readonly fail: () => Promise<unknown>;
  readonly begins: RegExp;
  /** What the details have. */
  readonly body?: string | undefined;
}

const rows: readonly (readonly [what: string, fail: () => Promise<unknown>, begins: RegExp, body?: string])[] = [
  [
    "a page in place of JSON",
    () => agents(answering(page, typed("text/html"))),
    /listAgents is answered with text\/html/,
    page,
  ],
  [
    "a page that says it is JSON",
    () => agents(answering(page, typed("application/json"))),
    /the body is not JSON/,
    page,
  ],
  [
    "a refusal by a page",
    () => agents(answering(page, typed("text/html", 502))),
    /^502 Bad Gateway \(this is a web page/,
    page,
  ],
  [
    "a refusal by a page without a title",
    () => agents(answering("<p>\nno</p>", typed("text/html", 503))),
    /^status 503 \(/,
    "<p>\nno</p>",
  ],
  ["a refusal by foreign JSON", () => agents(answering(json, typed("application/json", 422))), /^status 422$/, json],
  ["a refusal by a trace", () => agents(answering(trace, typed("text/plain", 500))), /^Traceback \(most/, trace],
  [
    "the protocol's refusal in many lines",
    () => agents(answering(JSON.stringify({ error: trace }), typed("application/json", 500))),
    /^Traceback/,
    trace,
  ],
  [
    "a page in place of a stream",
    () => text(answering(page, typed("text/html"))),
    /send is answered with text\/html, "502 Bad Gateway"/,
    page,
  ],
  [
    "a stream's message that is a page",
    () => text(events(`event: text\ndata: ${page.replaceAll("\n", " ")}\n\n`)),
    /the body is not JSON/,
    page.replaceAll("\n", " "),
  ],
  [
    "a stream's message with a long wrong key",
    () => text(events(`event: text\ndata: {"text":{"${long}":1}}\n\n`)),
    /`text` must be string/,
  ],
  [
    "a stream's failure in many lines",
    () => text(events(`event: error\ndata: ${JSON.stringify({ error: trace })}\n\n`)),
    /^Traceback/,
    trace,
  ],
  [
    "a stream that stops after a long unknown event",
    () => text(events(`event: quit\ndata: ${JSON.stringify({ why: long })}\n\n`)),
    /stopped without done or error, after the unknown event quit/,
    JSON.stringify({ why: long }),
  ],
  ["a handshake that is refused by a page", refused(page), /^502 Bad Gateway/, page],
  ["a handshake that is refused by foreign JSON", refused(json), /^status 502/, json],
  ["a frame that is a page", () => channel((on) => on.frame(page)), /the body is not JSON/, page],
  ["a close with lines in its reason", () => channel((on) => on.close(4000, "a\nb")), /session.*4000.*a b/],
  [
    "a redirect to a long address",
    () =>
      text({
        ...answering("", {}),
        fetch: async () => new Response("", { status: 302, headers: { Location: `/${long}` } }),
      }),
    /was redirected \(302\)/,
  ],
  [
    "no answer at a long address",
    () => history(failing(Object.assign(new Error(trace), { code: "ECONNREFUSED" }))),
    /no answer from .*nothing listens there/,
  ],
  ["a `fetch` that throws lines", () => agents(failing(new Error(trace))), /no answer from http:\/\/agent\.test/],
  [
    "a token function that throws lines",
    () => agents({ ...answering("", {}), token: () => Promise.reject(new Error(trace)) }),
    /the token function failed/,
  ],
  [
    "a URL with a wrong, long value",
    () => connect(loco, answering("", {})).deleteSession({ session_id: `\ud800${long}` }),
    /session_id is part of the URL/,
  ],
  ["a wrong, long base URL", async () => connect(foldGateway, { baseUrl: `${long}\n` }), /add http:\/\/ to baseUrl/],
  [
    "wrong retryWaits",
    async () => connect(foldGateway, { retryWaits: [trace] as never }),
    /retryWaits is a list of seconds/,
  ],
  [
    "a message that is not one",
    async () => {
      const session = await connect(based, {
        ...answering("", {}),
        webSocket: async () => ({ send() {}, close() {}, listen() {} }),
      }).session();
      session.send({ type: trace } as never);
    },
    /is not a message of the client here/,
  ],
];

const cases = rows.map(([what, fail, begins, body]): Case => ({ what, fail, begins, body }));

describe("The message of an error", () => {
  it.each(cases)("is one line that begins with the cause, for $what", async ({ fail, begins, body }) => {
    const error = await fail().then(
      () => expect.unreachable("nothing failed"),
      (thrown: Error & { details?: { body?: unknown } }) => thrown,
    );
    expect(error.message).toMatch(/^[^\p{Cc}\u2028\u2029]+$/u);
    expect(error.message.length).toBeLessThan(MAX_MESSAGE);
    expect(error.message).toMatch(begins);
    expect(error.details?.body).toBe(body);
  });

  it.each([
    ["Violation", new Violation(trace, { code: "schema", protocol: "p", side: "server" })],
    ["Disconnected", new Disconnected(trace, { code: "closed", retryable: false })],
    ["misuse", misuse(trace)],
  ])("is one line by construction: %s", (_, { message }) => {
    expect(message).toMatch(/^(p: )?Traceback \(most recent call last\): File x [^\n]*…( \(from the server\))?$/);
    expect(message.length).toBeLessThan(MAX_MESSAGE);
  });

  it("is the handler's own where a handler refuses", () => {
    expect(new Refusal(trace).message).toBe(trace);
  });
});
