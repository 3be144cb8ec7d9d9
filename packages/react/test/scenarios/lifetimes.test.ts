import { createRequire } from "node:module";
import { dirname } from "node:path";
import { type BasedHandlers, based } from "@parlance/protocols/based";
import { type CovenHandlers, coven, type SendMessage } from "@parlance/protocols/coven";
import { Refusal, serve } from "@parlance/server";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { hasBrowser, type Opened, openPage } from "../browser.js";

const { resolve } = createRequire(import.meta.url);
const versions = [
  {
    version: "18",
    react: resolve("react-18/package.json"),
    dom: resolve("react-dom-18/package.json"),
    hasActivity: false,
  },
  { version: "19", react: resolve("react/package.json"), dom: resolve("react-dom/package.json"), hasActivity: true },
];

/** What the page does, or the server; then what the component shows: its stream, its channel, its asks. */
type Step = readonly [does: string, shows?: string];
interface Life {
  readonly event: string;
  readonly steps: readonly Step[];
  /** What is open at the server afterwards. */
  readonly streams: number;
  readonly channels: number;
  readonly needsActivity?: true;
}

const mount: Step = ["mount()", "idle | open initial_state |"];
const ask: Step = ["begin('ask')", "streaming tool_approval | open initial_state | open"];
const hide: Step = ["hide()", "stopped tool_approval | opening |"];
const lives: readonly Life[] = [
  {
    event: "StrictMode, with a send in an effect",
    steps: [["mount({ isStrict: true, auto: 'ask' })", ask[1]!]],
    streams: 1,
    channels: 1,
  },
  {
    event: "StrictMode, with a send in the effect of a child",
    steps: [["mount({ isStrict: true, auto: 'ask', isByChild: true })", ask[1]!]],
    streams: 1,
    channels: 1,
  },
  { event: "unmount", steps: [mount, ask, ["unmount()", "nothing"]], streams: 0, channels: 0 },
  {
    event: "calls after unmount",
    steps: [mount, ask, ["unmount()", "nothing"], ["send('ask')"], ["decide()"], ["close()"]],
    streams: 0,
    channels: 0,
  },
  { event: "hide", steps: [mount, ask, hide], streams: 0, channels: 0, needsActivity: true },
  {
    event: "hide and show",
    steps: [mount, ask, hide, ["show()", "stopped tool_approval | open initial_state |"]],
    streams: 0,
    channels: 1,
    needsActivity: true,
  },
  {
    event: "calls while hidden, and show",
    steps: [mount, ask, hide, ["send('ask')", "stopped | opening |"], ["show()", "stopped | open initial_state |"]],
    streams: 0,
    channels: 1,
    needsActivity: true,
  },
  {
    event: "cancel",
    steps: [
      mount,
      ask,
      ["stop()", "stopped tool_approval | open initial_state |"],
      ["close()", "stopped tool_approval | closed initial_state |"],
    ],
    streams: 0,
    channels: 0,
  },
  {
    event: "failure by message",
    steps: [
      mount,
      ask,
      [
        "fail",
        "failed tool_approval error Refusal: no model | failed initial_state error Disconnected: based.session was closed by the server: 1011 the handler failed |",
      ],
    ],
    streams: 0,
    channels: 0,
  },
  {
    event: "failure by cut",
    steps: [
      mount,
      ask,
      [
        "cut",
        "failed tool_approval Disconnected: coven.send was cut | failed initial_state Disconnected: based.session was closed by the server: 1006 |",
      ],
    ],
    streams: 0,
    channels: 0,
  },
  {
    event: "end",
    steps: [
      mount,
      ask,
      ["decide()", "done tool_approval done | open initial_state |"],
      ["say()", "done tool_approval done | closed initial_state |"],
    ],
    streams: 0,
    channels: 0,
  },
];

describe.skipIf(!hasBrowser).each(versions)("With React $version,", ({ version, react, dom, hasActivity }) => {
  const open = { streams: 0, channels: 0 };
  let begun = 0;
  /** Makes the handlers that run throw. */
  let fail = (): void => {};
  let failing: Promise<never>;
  const arm = () => {
    failing = new Promise((_, reject) => {
      fail = () => reject(new Refusal("no model"));
    });
    failing.catch(() => {});
  };
  arm();
  const agent = serve(
    coven,
    {
      async *send(_, call): AsyncGenerator<SendMessage> {
        open.streams++;
        begun++;
        try {
          const tool = { id: "t1", name: "write_file", input_json: "{}", request_id: "1" };
          await Promise.race([call.ask({ type: "tool_approval", ...tool }), failing]);
          yield { type: "done", full_response: "" };
        } finally {
          open.streams--;
        }
      },
      approveTool: ({ approved }) => ({ success: true, approved }),
    } satisfies Partial<CovenHandlers>,
    { partial: true, onError: false },
  );
  const editor = serve(
    based,
    {
      async session(_, channel) {
        open.channels++;
        try {
          channel.send({ type: "initial_state", files: [], activeFile: null });
          await Promise.race([failing, channel[Symbol.asyncIterator]().next()]);
        } finally {
          open.channels--;
        }
      },
    } satisfies BasedHandlers,
    { onError: false },
  );
  let opened: Opened;
  beforeAll(async () => {
    const alias = { react: dirname(react), "react-dom": dirname(dom) };
    opened = await openPage(new URL("../lifetimes-page.ts", import.meta.url), [agent, editor], alias);
    expect(await opened.page.evaluate("version")).toMatch(new RegExp(`^${version}\\.`));
  }, 60_000);
  afterAll(async () => {
    await opened.close();
    await Promise.all([agent.close(), editor.close()]);
  });

  const possible = lives.filter(({ needsActivity }) => hasActivity || !needsActivity);
  it.each(possible)(
    "hooks show and leave open what they should after: $event",
    async ({ steps, streams, channels }) => {
      arm();
      begun = 0;
      for (const [does, shows] of steps) {
        if (does === "fail") fail();
        else if (does === "cut") opened.cut();
        else await opened.page.evaluate(does);
        if (shows) await vi.waitFor(async () => expect(await opened.page.evaluate("look()")).toBe(shows), 15_000);
      }
      await vi.waitFor(() => expect(open).toEqual({ streams, channels }), 15_000);
      expect(begun).toBe(1);
      await opened.page.evaluate("unmount()");
      await vi.waitFor(() => expect(open).toEqual({ streams: 0, channels: 0 }), 15_000);
    },
  );
});
