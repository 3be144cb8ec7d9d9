import { describe, expect, test } from "vitest";
import { portOf, type StandardSocket, standardPort } from "../../src/web/port.js";

/** A socket of a runtime that sends some codes only, and what is asked of it. */
function runtime(maxMessageSize = 10) {
  const asked: unknown[] = [];
  const socket = {
    send: (frame: string) => void asked.push(frame),
    close(code: number, reason: string) {
      if (code !== 1000 && code < 3000) throw new RangeError("code");
      asked.push([code, reason]);
    },
    buffered: () => 7,
  };
  const made = portOf(socket, maxMessageSize);
  const heard: unknown[] = [];
  const listen = () =>
    made.port.listen({ frame: (text) => void heard.push(text), close: (...how) => void heard.push(how) });
  return { ...made, asked, heard, listen };
}

describe("A port of a runtime", () => {
  test("keeps what comes before it is listened to, in order, and its first end", () => {
    for (const early of [true, false]) {
      const { receive, end, heard, listen } = runtime();
      if (early) listen();
      for (const frame of ["1", "é"]) receive(frame);
      end(1001, "away");
      end(1006, "");
      receive("late");
      if (!early) listen();
      expect(heard).toEqual(["1", "é", [1001, "away"]]);
    }
  });

  test("sends, counts what is queued, and closes by a code that its runtime sends", () => {
    const { port, asked } = runtime();
    port.send("1");
    for (const code of [1000, 3001, 1012]) port.close(code, "why");
    expect([asked, port.buffered!()]).toEqual([["1", [1000, "why"], [3001, "why"], [4012, "why"]], 7]);
  });

  test("that is cut is over at once", () => {
    const { port, asked, heard, listen } = runtime();
    listen();
    port.cut!();
    expect([asked, heard]).toEqual([[[4011, ""]], [[1006, ""]]]);
  });

  test.each([
    ["no text", new Uint8Array(1), 1003, "text frames only"],
    ["too many bytes", "12345678901", 1009, "a message has at most 10 bytes"],
    ["too many bytes, of fewer characters", "éééééé", 1009, "a message has at most 10 bytes"],
  ])("is closed by a frame of %s, whether the peer confirms that or not", (_, frame, code, reason) => {
    for (const early of [true, false]) {
      const { receive, asked, heard, listen } = runtime();
      if (early) listen();
      for (let i = 0; i < 2; i++) receive(frame);
      if (!early) listen();
      expect([asked, heard]).toEqual([[[4000 + (code % 1000), reason]], [[code, reason]]]);
    }
  });

  test.each(["1234567890", "ééééé", "€€€", ""])("takes a frame of ten bytes and fewer: %j", (frame) => {
    const { receive, heard, listen } = runtime();
    listen();
    receive(frame);
    expect(heard).toEqual([frame]);
  });
});

test("a standard socket is heard, closed, and cut by its failure", () => {
  const on: Record<string, (event: object) => void> = {};
  const asked: unknown[] = [];
  const socket = {
    bufferedAmount: 7,
    send: (frame: string) => void asked.push(frame),
    close: (...how: unknown[]) => void asked.push(how),
    addEventListener: (type: string, listener: (event: object) => void) => {
      on[type] = listener;
    },
  };
  const port = standardPort(socket as unknown as StandardSocket, 10);
  const heard: unknown[] = [];
  port.listen({ frame: (text) => void heard.push(text), close: (...how) => void heard.push(how) });
  port.send("1");
  port.close(1000, "bye");
  on.message!({ data: "2" });
  expect([asked, heard, port.buffered!()]).toEqual([["1", [1000, "bye"]], ["2"], 7]);
  on.error!({});
  on.close!({ code: 1000, reason: "bye" });
  expect(heard.slice(1)).toEqual([[1006, "the socket failed"]]);
  const { bufferedAmount: _, ...uncounted } = socket;
  const other = standardPort(uncounted as unknown as StandardSocket, 10);
  other.listen({ frame() {}, close: (...how) => void heard.push(how) });
  on.close!({ code: 3000, reason: "bye" });
  expect([other.buffered!(), heard.at(-1)]).toEqual([0, [3000, "bye"]]);
});
