import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Recorder, type RecorderOptions } from "../src/recorder.js";

// What a recorder writes of each event, and when.

const open: RecorderOptions = { redact: false };
const client = { c: 1, from: "client" } as const;
const server = { c: 1, from: "server" } as const;
const asked = { ...client, kind: "request", method: "GET", target: "/a?b=c", headers: [] } as const;

describe("a recorder", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  function recorder(options: RecorderOptions = {}) {
    const lines: Record<string, unknown>[] = [];
    const made = new Recorder((line) => void lines.push(JSON.parse(line)), options);
    return { made, lines, kinds: () => lines.slice(1).map(({ kind }) => kind) };
  }

  test("has in its first line what it was given", () => {
    const about = { name: "ferry", digest: "sha256:0" };
    const [line] = recorder({ about, versions: { a: "1" }, metadataOnly: true }).lines;
    expect(line).toMatchObject({ recording: 1, contract: about, versions: { a: "1" }, metadataOnly: true });
    expect((line!.redacted as string[]).length).toBeGreaterThan(0);
    expect(new Date(line!.began as string).toISOString()).toBe(line!.began);
  });

  test("counts its lines, and its times begin with it", () => {
    const { made, lines } = recorder(open);
    expect(made.lines).toBe(1);
    vi.advanceTimersByTime(250);
    made.connection().beat("client", "ping");
    expect(made.lines).toBe(2);
    expect(lines[1]).toEqual({ t: 250, c: 1, from: "client", kind: "ping" });
  });

  test("writes each line when its event comes", () => {
    const { made, kinds } = recorder();
    const connection = made.connection();
    connection.request("GET", "/", [], true);
    connection.response(101, []);
    connection.frame("server", "the key is sk-live-0123456789");
    expect(kinds()).toEqual(["request", "response", "frame"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("leaves out texts, queries and values where it keeps metadata alone", () => {
    const { made, lines } = recorder({ metadataOnly: true });
    const connection = made.connection();
    connection.request("POST", "/a?b=c", [
      ["Content-Type", "a/b"],
      ["X-A", "secret"],
    ]);
    connection.body("client", new TextEncoder().encode("hällo"));
    connection.end("client");
    connection.response(200, [["content-type", "text/event-stream"]]);
    connection.body("server", new TextEncoder().encode("event: moved\ndata: {}\n\n"));
    connection.end("server");
    expect(lines.slice(1).map(({ t, ...line }) => line)).toEqual([
      {
        ...asked,
        method: "POST",
        target: "/a",
        headers: [
          ["Content-Type", "a/b"],
          ["X-A", ""],
        ],
      },
      { ...client, kind: "body", size: 6 },
      { ...server, kind: "response", status: 200, headers: [["content-type", "text/event-stream"]] },
      { ...server, kind: "event", event: "moved", size: 2 },
      { ...server, kind: "end" },
    ]);
  });

  test("keeps the blocks of a stream to the byte where it is asked to, or where their fields say less", () => {
    const stream = "data: a\n\n:x\n\nevent:b\ndata:b\n\n";
    const written = (raw: boolean) => {
      const { made, lines } = recorder({ ...open, raw });
      const connection = made.connection();
      connection.request("GET", "/", []);
      connection.response(200, [["Content-Type", "text/event-stream"]]);
      connection.body("server", new TextEncoder().encode(stream));
      connection.end("server");
      return lines.slice(3, -1).map(({ t, c, from, ...line }) => line);
    };
    const [first, comment, last] = written(false);
    expect([first, comment, last]).toEqual([
      { kind: "event", text: "a" },
      { kind: "comment", text: ":x\n\n" },
      { kind: "event", event: "b", text: "b", raw: "event:b\ndata:b\n\n" },
    ]);
    expect(written(true)).toEqual([{ ...first, raw: "data: a\n\n" }, comment, last]);
  });

  test("has of frames their texts, their bytes, or their size alone where they are too large", () => {
    const { made, lines } = recorder(open);
    const connection = made.connection();
    connection.frame("client", "text");
    connection.frame("server", new Uint8Array([0, 255]));
    connection.frame("server", "", 1 << 30);
    connection.frame("client", "x", 5);
    const written = lines.slice(1).map(({ t, c, ...line }) => line);
    expect(written).toEqual([
      { from: "client", kind: "frame", text: "text" },
      { from: "server", kind: "frame", base64: "AP8=" },
      { from: "server", kind: "frame", size: 1 << 30 },
      { from: "client", kind: "frame", text: "x" },
    ]);
  });

  test("passes over a body and an end that belong to nothing", () => {
    const { made, kinds } = recorder(open);
    const connection = made.connection();
    connection.body("server", new Uint8Array([1]));
    connection.end("server");
    connection.request("GET", "/", [], true);
    connection.body("client", new Uint8Array([1]));
    connection.end("client");
    connection.error("server", "lost");
    expect(kinds()).toEqual(["request", "error"]);
  });
});
