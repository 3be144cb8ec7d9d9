import type { Port, PortEvents } from "@parlance/wire";
import { describe, expect, test } from "vitest";
import { SafePort } from "../../src/channel/socket.js";

type Call = "send" | "close" | "cut" | "buffered" | "listen";

/** An adapter's port of which one call fails, at once or later. */
function failing(call?: Call, how: "throws" | "rejects" = "throws") {
  let on: PortEvents | undefined;
  const asked: unknown[] = [];
  const fail = (name: Call, asks?: unknown) => {
    if (asks !== undefined) asked.push(asks);
    if (name !== call) return undefined;
    if (how === "throws") throw new Error("broken");
    return Promise.reject(new Error("broken")) as never;
  };
  const port: Port = {
    send: (frame) => fail("send", frame),
    close: (code, reason) => fail("close", [code, reason]),
    cut: () => fail("cut", "cut"),
    buffered: () => fail("buffered") ?? 7,
    listen: (events) => {
      on = events;
      return fail("listen");
    },
  };
  const heard: unknown[] = [];
  const safe = new SafePort(port);
  const listen = (more = {}) =>
    safe.listen({ frame: (text) => void heard.push(text), close: (...end) => void heard.push(end), ...more });
  return { safe, asked, heard, listen, on: () => on! };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));
const FAILED = [1006, "the socket failed"];

describe("A port of an adapter", () => {
  test("passes what is sent and heard, and tells of its end once", () => {
    const { safe, asked, heard, listen, on } = failing();
    const closing = () => {};
    listen({ closing });
    safe.send("1");
    safe.close(1000, "bye");
    safe.cut();
    expect([asked, safe.buffered(), on().closing]).toEqual([["1", [1000, "bye"], "cut"], 7, closing]);
    on().frame("2");
    on().close(1000, "bye");
    on().close(1006, "");
    on().frame("late");
    safe.send("late");
    expect([heard, asked.length]).toEqual([["2", [1000, "bye"]], 3]);
  });

  test.each(
    (["send", "close", "cut", "buffered", "listen"] as const).flatMap((call) =>
      (["throws", "rejects"] as const).map((how) => ({ call, how })),
    ),
  )("of which a call fails is cut, and its end told, once: %o", async ({ call, how }) => {
    for (const early of [true, false]) {
      const { safe, asked, heard, listen } = failing(call, how);
      if (early || call === "listen") listen();
      for (let i = 0; i < 2; i++) {
        if (call === "send") safe.send("1");
        else if (call === "close") safe.close(1000, "");
        else if (call === "cut") safe.cut();
        else if (call === "buffered") expect(safe.buffered()).toBe(0);
        await turn();
      }
      if (!early && call !== "listen") listen();
      expect(heard).toEqual([FAILED]);
      expect(asked).toContain("cut");
    }
  });

  test("that has no count and no cut has nothing queued, and is closed by its end alone", () => {
    const sent: unknown[] = [];
    const bare: Port = { send: (frame) => void sent.push(frame), close() {}, listen() {} };
    const safe = new SafePort(bare);
    safe.cut();
    safe.send("1");
    expect([safe.buffered(), sent]).toEqual([0, ["1"]]);
  });
});
