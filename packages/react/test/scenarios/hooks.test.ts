import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type CovenHandlers, coven, type SendMessage } from "@parlance/protocols/coven";
import { Refusal, serve } from "@parlance/server";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { hasBrowser, openPage } from "../browser.js";

const approval = (id: string) =>
  ({ type: "tool_approval", id, name: "write_file", input_json: "{}", request_id: "1" }) as const;

/** Streams and channels that are open, and how often each was begun. */
const open = { streams: 0, channels: 0, opened: 0 };

const agent = serve(
  coven,
  {
    async *send({ content }, call): AsyncGenerator<SendMessage> {
      open.streams++;
      try {
        if (content === "fail") throw new Refusal("no agent", { status: 503 });
        if (content === "words") for (let i = 0; i < 1000; i++) yield { type: "text", text: `${i} ` };
        if (content === "endless") {
          yield { type: "text", text: "a" };
          await new Promise((resolve) => call.signal.addEventListener("abort", resolve));
        }
        if (content === "ask") await Promise.all([call.ask(approval("t1")), call.ask(approval("t2"))]);
        yield { type: "done", full_response: "" };
      } finally {
        open.streams--;
      }
    },
    approveTool: ({ approved }) => ({ success: true, approved }),
  } satisfies Partial<CovenHandlers>,
  { partial: true, onError: false },
);
const editor = serve(based, {
  async session(_, channel) {
    open.channels++;
    open.opened++;
    channel.send({ type: "initial_state", files: [], activeFile: null });
    for await (const message of channel)
      if (message.type === "list_files") channel.send({ type: "file_list", files: [] });
    open.channels--;
  },
} satisfies BasedHandlers);

describe.skipIf(!hasBrowser)("In Chromium, under StrictMode,", () => {
  let page: Page;
  let close = async (): Promise<void> => {};

  beforeAll(async () => {
    ({ page, close } = await openPage(new URL("../page.ts", import.meta.url), [agent, editor]));
    await page.waitForSelector("#turn");
  }, 60_000);
  afterAll(async () => {
    await close();
    await Promise.all([agent.close(), editor.close()]);
  });

  /** Waits for the text of an element. */
  const shows = (id: string, text: string) =>
    page.waitForFunction(([id, text]) => document.getElementById(id!)?.textContent?.trim() === text, [id, text]);

  it("useStream reads a stream to its end, with a render for each read and not for each message", async () => {
    const before = await page.evaluate<number>("renders.turn");
    await page.click("#words");
    await shows("turn", `done ${"text ".repeat(1000)}done`);
    expect((await page.evaluate<number>("renders.turn")) - before).toBeLessThan(500);
  });

  it("useStream shows a refusal", async () => {
    await page.click("#fail");
    await shows("turn", "failed  Refusal: no agent");
  });

  it("useStream stops, and another `send` replaces a stream", async () => {
    await page.click("#endless");
    await shows("turn", "streaming text");
    await page.click("#stop");
    await shows("turn", "stopped text");
    await page.click("#endless");
    await shows("turn", "streaming text");
    await page.click("#ask");
    await shows("turn", "streaming tool_approval tool_approval");
    await vi.waitFor(() => expect(open.streams).toBe(1));
  });

  it("useAsks shows the open asks, and drops those that are decided", async () => {
    await page.click('[id="open t1"]');
    await page.waitForFunction(() => document.getElementById("open t1") === null);
    expect(await page.isVisible('[id="open t2"]')).toBe(true);
    await page.click('[id="open t2"]');
    await shows("turn", "done tool_approval tool_approval done");
  });

  it("useChannel opens one channel, sends and reads", async () => {
    await shows("files", "open initial_state");
    await page.click("#list");
    await shows("files", "open initial_state file_list");
    await vi.waitFor(() => expect(open.channels).toBe(1));
  });

  it("unmounting ends the stream and the channel, and mounting opens the channel again", async () => {
    await page.click("#endless");
    await shows("turn", "streaming text");
    await page.click("#toggle");
    await vi.waitFor(() => expect(open).toMatchObject({ streams: 0, channels: 0 }));
    await page.click("#toggle");
    await shows("turn", "idle");
    await shows("files", "open initial_state");
    await vi.waitFor(() => expect(open.channels).toBe(1));
  });
});
