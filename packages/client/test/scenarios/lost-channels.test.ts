import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { serve } from "@parlance/server";
import { memoryLog } from "@parlance/server/resume";
import type { Port } from "@parlance/wire";
import { expect, test } from "vitest";

/** A channel that was cut after its first message, of which each further request fails in one way. */
async function cutChannel(fail: () => Response | Promise<Response>, reconnectFor = 300) {
  const app = serve(
    based,
    {
      async session(_, channel) {
        channel.send({ type: "initial_state", files: [], activeFile: null });
        for await (const _ of channel);
      },
    },
    { log: memoryLog(), onError: false },
  );
  let isCut = false;
  let port: Port | undefined;
  const session = await connect(based, {
    random: () => 0,
    reconnectFor,
    fetch: async (request) => (isCut ? fail() : app.fetch(request)),
    async webSocket(url, init) {
      const opened = await app.webSocket(url, init);
      if ("refused" in opened) throw new Error("refused");
      port = opened;
      // What is sent after the cut reaches nobody.
      return { ...opened, send: (frame) => void (isCut || opened.send(frame)) };
    },
  }).session();
  for await (const message of session) {
    expect(message.type).toBe("initial_state");
    break;
  }
  return {
    session,
    app,
    cut() {
      isCut = true;
      port!.close(1006, "");
    },
  };
}

const refuses = () => new Response('{"detail":"no"}', { status: 403, headers: { "Content-Type": "application/json" } });
const fails = () => Promise.reject(new TypeError("fetch failed"));
const message = { type: "upload_file", filename: "f", content: "" } as const;

test.each([
  [
    "whose join is refused",
    refuses,
    false,
    { code: "closed", retryable: false, cause: { name: "Refusal", status: 403 } },
  ],
  [
    "that is closed, and whose join is refused",
    refuses,
    true,
    { code: "closed", retryable: false, cause: { status: 403 } },
  ],
  ["that nobody answers any more", fails, false, { code: "closed", retryable: true, cause: { code: "unreachable" } }],
  [
    "that is closed, and that nobody answers any more",
    fails,
    true,
    { code: "closed", retryable: true, cause: { code: "closed" } },
  ],
] as const)(
  "a channel %s ends with an error that says so, with what is unconfirmed",
  async (_, fail, closes, wanted) => {
    const { session, cut, app } = await cutChannel(fail);
    cut();
    await session.send(message);
    if (closes) void session.close().catch(() => {});
    const error = await session.closed.catch((error: unknown) => error);
    expect(error).toMatchObject({ name: "Disconnected", ...wanted, unconfirmed: [message] });
    app.close();
  },
);
