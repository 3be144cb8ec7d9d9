import type { Port } from "@parlance/wire";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { globalWebSocket } from "../../src/channel/socket.js";

/** A browser's WebSocket, of which a test decides what becomes. */
class Socket extends EventTarget {
  static readonly made: Socket[] = [];
  readyState = 0;
  bufferedAmount = 0;
  onopen?: () => void;
  onerror?: () => void;
  readonly close = vi.fn();
  readonly url: string;
  readonly protocols: readonly string[];

  constructor(url: string, protocols: readonly string[]) {
    super();
    this.url = url;
    this.protocols = protocols;
    Socket.made.push(this);
  }
}

beforeEach(() => {
  Socket.made.length = 0;
  vi.stubGlobal("WebSocket", Socket);
});
afterEach(() => void vi.unstubAllGlobals());

const opened = (headers = {}, signal?: AbortSignal) =>
  globalWebSocket("ws://x/y", { headers, protocols: ["parlance.t"], maxSize: 1, ...(signal && { signal }) });

test("a browser's socket is opened at the address with its protocols, and gives a port", async () => {
  const opening = opened();
  const [socket] = Socket.made;
  expect(socket).toMatchObject({ url: "ws://x/y", protocols: ["parlance.t"] });
  socket!.onopen!();
  ((await opening) as Port).close(1000, "done");
  expect(socket!.close).toHaveBeenCalledExactlyOnceWith(1000, "done");
});

test("a browser's socket that cannot be opened rejects", async () => {
  const opening = opened();
  Socket.made[0]!.onerror!();
  await expect(opening).rejects.toThrow("the WebSocket could not be opened");
});

test.each([
  [0, 1],
  [1, 0],
])("an aborted signal closes a browser's socket only while it is opening: in state %d, %d times", (state, times) => {
  const abort = new AbortController();
  opened({}, abort.signal).catch(() => {});
  Socket.made[0]!.readyState = state;
  abort.abort();
  expect(Socket.made[0]!.close).toHaveBeenCalledTimes(times);
});

test("a token, or a runtime without a WebSocket, is refused before anything is opened", async () => {
  await expect(opened({ Authorization: "Bearer t" })).rejects.toThrow("carries no token");
  expect(Socket.made).toEqual([]);
  vi.stubGlobal("WebSocket", undefined);
  await expect(opened()).rejects.toThrow("this Node has no WebSocket");
});
