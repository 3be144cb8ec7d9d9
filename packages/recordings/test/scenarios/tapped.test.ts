import type { Port } from "@parlance/wire";
import { pair } from "@parlance/wire/link";
import { describe, expect, test } from "vitest";
import type { RecorderOptions } from "../../src/recorder.js";
import { type Recordable, record } from "../../src/tap.js";

// What a recording in memory has of each thing that happens.

/** The lines between the first and the last, without their times. */
function linesOf(text: string): object[] {
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  return lines.slice(1, -1).map(({ t, ...line }) => line);
}
const app = (fetch: Recordable["fetch"]): Recordable => ({ fetch });
const open: RecorderOptions = { redact: false };
const client = { c: 1, from: "client" } as const;
const server = { c: 1, from: "server" } as const;
const asked = { ...client, kind: "request", method: "GET", target: "/a?b=c", headers: [] } as const;

describe("a recorded fetch", () => {
  test("has the request with its body, the answer with its own, and their ends", async () => {
    const recording = record(
      app(async (request) => new Response(`got ${await request.text()}`, { status: 201, headers: { "X-A": "b" } })),
      open,
    );
    const request = new Request("http://a.test/a?b=c", {
      method: "POST",
      body: "hello",
      headers: { "Content-Type": "a/b" },
    });
    const response = await recording.fetch(request);
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 201, text: "got hello" });
    expect(linesOf(recording.text())).toEqual([
      { ...asked, method: "POST", headers: [["content-type", "a/b"]] },
      { ...client, kind: "body", text: "hello" },
      {
        ...server,
        kind: "response",
        status: 201,
        headers: [
          ["content-type", "text/plain;charset=UTF-8"],
          ["x-a", "b"],
        ],
      },
      { ...server, kind: "body", text: "got hello" },
      { ...server, kind: "end" },
    ]);
    const [first, last] = [recording.text().split("\n")[0]!, recording.text().trim().split("\n").at(-1)!];
    expect(JSON.parse(first)).toEqual({ recording: 1, versions: {}, began: expect.any(String), redacted: [] });
    expect(JSON.parse(last)).toEqual({ end: { lines: 6, sha256: null } });
    expect(Buffer.concat(recording.bytes()).toString()).toBe(recording.text());
  });

  test("numbers its connections, and has an answer without a body", async () => {
    const recording = record(
      app(async () => new Response(null, { status: 204 })),
      open,
    );
    for (const path of ["x", "y"]) await recording.fetch(new Request(`http://a.test/${path}`));
    expect(linesOf(recording.text())).toEqual(
      ["/x", "/y"].flatMap((target, index) => [
        { ...asked, c: index + 1, target },
        { ...server, c: index + 1, kind: "response", status: 204, headers: [] },
        { ...server, c: index + 1, kind: "end" },
      ]),
    );
  });

  test.each([
    [false, "server"],
    [true, "client"],
  ])("that throws, aborted by its caller: %s, was lost by the %s", async (aborts, from) => {
    const controller = new AbortController();
    const recording = record(
      app(async () => {
        if (aborts) controller.abort();
        throw new TypeError("no connection");
      }),
      open,
    );
    const request = new Request("http://a.test/a?b=c", { signal: controller.signal });
    await expect(recording.fetch(request)).rejects.toThrow("no connection");
    expect(linesOf(recording.text())).toEqual([asked, { c: 1, from, kind: "error", text: "no connection" }]);
  });

  const streaming = (end: "hold" | "fail") =>
    app(async () => {
      let sent = false;
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          if (sent && end === "fail") controller.error(new Error("cut"));
          else if (!sent) controller.enqueue(new TextEncoder().encode("part"));
          sent = true;
        },
      });
      return new Response(body);
    });

  test("that is cut, or left by its reader, has the part that came", async () => {
    for (const [end, from, text] of [
      ["fail", "server", "cut"],
      ["hold", "client", "the client has gone"],
    ] as const) {
      const recording = record(streaming(end), open);
      const reader = (await recording.fetch(new Request("http://a.test/a?b=c"))).body!.getReader();
      expect(new TextDecoder().decode((await reader.read()).value)).toBe("part");
      if (end === "fail") await expect(reader.read()).rejects.toThrow("cut");
      else await reader.cancel();
      expect(linesOf(recording.text()).slice(2)).toEqual([
        { ...server, kind: "body", text: "part" },
        { c: 1, from, kind: "error", text },
      ]);
    }
  });

  test("is read at its reader's pace", async () => {
    let pulls = 0;
    const recording = record(
      app(
        async () =>
          new Response(
            new ReadableStream({ pull: (to) => to.enqueue(new Uint8Array([++pulls])) }, { highWaterMark: 0 }),
          ),
      ),
    );
    const { body } = await recording.fetch(new Request("http://a.test/"));
    expect(pulls).toBe(0);
    const reader = body!.getReader();
    await reader.read();
    expect(pulls).toBe(1);
    await reader.cancel();
  });
});

describe("a recorded WebSocket", () => {
  const init = { headers: { "X-A": "b" }, protocols: ["one", "two"], maxSize: 100 };
  const socket = {
    ...asked,
    headers: [
      ["X-A", "b"],
      ["Sec-WebSocket-Protocol", "one, two"],
    ],
    socket: true,
  };
  const none = () => Promise.reject(new Error("not asked"));
  const events = { frame() {}, close() {} };
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  async function opened(options: RecorderOptions = open) {
    const [near, far] = pair();
    const recording = record({ fetch: none, webSocket: async () => near }, options);
    const port = (await recording.webSocket("ws://a.test/a?b=c", init)) as Port;
    return { recording, port, far, near };
  }

  test("has its handshake, its frames and the first close", async () => {
    const { recording, port, far } = await opened();
    const heard: unknown[] = [];
    port.listen({ frame: (text) => heard.push(text), close: (code, reason) => heard.push([code, reason]) });
    far.listen({ frame: (text) => far.send(`re: ${text}`), close() {} });
    port.send("hello");
    await turn();
    far.close(1001, "bye");
    await turn();
    port.close(1000, "too late");
    expect(heard).toEqual(["re: hello", [1001, "bye"]]);
    expect(linesOf(recording.text())).toEqual([
      socket,
      { ...server, kind: "response", status: 101, headers: [] },
      { ...client, kind: "frame", text: "hello" },
      { ...server, kind: "frame", text: "re: hello" },
      { ...server, kind: "close", code: 1001, reason: "bye" },
    ]);
  });

  test("has the client's close once, and no answer to it", async () => {
    const { recording, port, far } = await opened();
    port.listen(events);
    far.listen(events);
    port.close(1000, "done");
    port.close(1000, "again");
    far.close(1000, "yes");
    await turn();
    expect(linesOf(recording.text()).slice(2)).toEqual([{ ...client, kind: "close", code: 1000, reason: "done" }]);
  });

  test("that is cut was lost by the server", async () => {
    const { recording, port, far } = await opened();
    port.listen(events);
    far.close(1006, "");
    await turn();
    expect(linesOf(recording.text()).slice(2)).toEqual([{ ...server, kind: "error", text: "the connection was lost" }]);
  });

  test("has the refusal of its handshake, or why there was none", async () => {
    const refusing = record({ fetch: none, webSocket: async () => ({ refused: { status: 403, body: "no" } }) }, open);
    expect(await refusing.webSocket("ws://a.test/a?b=c", { ...init, protocols: [] })).toEqual({
      refused: { status: 403, body: "no" },
    });
    expect(linesOf(refusing.text())).toEqual([
      { ...socket, headers: [["X-A", "b"]] },
      { ...server, kind: "response", status: 403, headers: [] },
      { ...server, kind: "body", text: "no" },
      { ...server, kind: "end" },
    ]);
    const failing = record({ fetch: none, webSocket: none }, open);
    await expect(failing.webSocket("ws://a.test/a?b=c", init)).rejects.toThrow("not asked");
    expect(linesOf(failing.text())).toEqual([socket, { ...server, kind: "error", text: "not asked" }]);
    await expect(record({ fetch: none }).webSocket("ws://a.test/", init)).rejects.toThrow("opens no WebSockets");
  });

  test("has the functions of the port that it has", async () => {
    const [near] = pair();
    const calls: string[] = [];
    const whole = { ...near, buffered: () => 7, cut: () => void calls.push("cut") };
    const recording = record({ fetch: none, webSocket: async () => whole });
    const port = (await recording.webSocket("ws://a.test/", init)) as Port;
    port.cut!();
    expect({ buffered: port.buffered!(), calls }).toEqual({ buffered: 7, calls: ["cut"] });
    expect((await opened()).port).not.toHaveProperty("cut");
    expect((await opened()).port).not.toHaveProperty("buffered");
  });
});
