import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import type { PortEvents } from "@parlance/wire";
import { expect, test } from "vitest";
import { MAX_MESSAGE_SIZE, MAX_QUEUED } from "../../src/options.js";

// A limit that nobody sets holds as well.

const opened = JSON.stringify({ status: "success", action: "initial_state", files: [], activeFile: null });
const frameOf = (content: string) =>
  JSON.stringify({ status: "success", action: "file_content", filename: "a", content });

/** A channel that is not read, and what its server sends. */
async function unread() {
  let on: PortEvents | undefined;
  const closes: unknown[] = [];
  const webSocket = async () => ({
    send() {},
    close: (...how: unknown[]) => void closes.push(how),
    listen(events: PortEvents) {
      on = events;
      events.frame(opened);
    },
  });
  const channel = await connect(based, { baseUrl: "http://localhost", resume: false, webSocket }).session();
  const failed = channel.closed.then(
    () => "closed",
    (error: { code?: string }) => error.code,
  );
  return { failed, closes, send: (frame: string) => on!.frame(frame) };
}

test("a channel that is not read ends where more waits than may by default", async () => {
  const { failed, closes, send } = await unread();
  const frame = frameOf("x".repeat(MAX_QUEUED / 8));
  for (let waiting = opened.length; waiting + frame.length <= MAX_QUEUED; waiting += frame.length) send(frame);
  expect(closes).toEqual([]);
  send(frame);
  expect([await failed, closes]).toEqual(["slow_reader", [[1008, "slow reader"]]]);
});

test("a frame above the default limit ends its channel, and one as large does not", async () => {
  const { failed, closes, send } = await unread();
  const frame = frameOf("x".repeat(MAX_MESSAGE_SIZE - frameOf("").length));
  send(frame);
  expect(closes).toEqual([]);
  send(`${frame} `);
  expect([await failed, closes]).toEqual(["too_large", [[1009, "too_large"]]]);
});
