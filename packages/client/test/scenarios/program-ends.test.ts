import { fileURLToPath } from "node:url";
import { type ConnectOptions, connect, Disconnected } from "@parlance/client";
import { program } from "@parlance/client/node";
import { acp } from "@parlance/protocols/acp";
import { describe, expect, it } from "vitest";
import { marked } from "../processes.js";

const agent = fileURLToPath(new URL("./ending-agent.mjs", import.meta.url));

/** Far above what the limits allow together, and below the 30 s after which any peer that takes nothing is cut. */
const WITHIN = 20_000;

/** More than a pipe and the program's buffers hold. */
const BACKLOG = "x".repeat(400_000);

/** An editor of a program. `asked` resolves with the signal of the program's question, which nobody answers. */
async function editorOf(act: string, options: ConnectOptions = {}) {
  const { env, left } = marked();
  let isAsked!: (signal: AbortSignal) => void;
  const asked = new Promise<AbortSignal>((resolve) => {
    isAsked = resolve;
  });
  const started = program(process.execPath, [agent, act], { env, endWithin: 100 });
  const editor = await connect(acp, { ...started, ...options }).acp({
    "session/request_permission": (_, { signal }) => {
      isAsked(signal);
      return new Promise(() => {});
    },
  });
  return { editor, asked, gone: () => expect.poll(left, { timeout: WITHIN }).toEqual([]) };
}

type Editor = Awaited<ReturnType<typeof editorOf>>["editor"];

const prompt = (text: string) => ({ sessionId: "s1", prompt: [{ type: "text" as const, text }] });

/** The error of a promise that has to reject. */
const errorOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => expect.unreachable(`it resolved with ${JSON.stringify(value)}`),
    (error) => error,
  );

async function streamed(editor: Editor): Promise<void> {
  for await (const _ of editor.call("session/prompt", prompt(BACKLOG)));
}

/** How each program ends once its channel closes, by the words of the error. */
const PROGRAMS: readonly (readonly [act: string, how: RegExp])[] = [
  ["reads nothing", /was ended by SIGTERM/],
  ["reads slowly", /was ended by SIGTERM/],
  ["ignores SIGTERM", /was ended by SIGKILL/],
  ["has closed its standard input", /closed its standard input, was ended by SIGTERM/],
  ["has closed its standard output", /closed its standard output, was ended by SIGTERM/],
  ["exits immediately", /ended with code 0|is closed/],
  ["has a child that holds the pipes", /ended with code 0|is closed|was ended by SIGTERM/],
];

describe.each(PROGRAMS)("a program that %s", (act, how) => {
  it("is gone after close(), and all that is open ends as Disconnected", { timeout: WITHIN }, async () => {
    const { editor, asked, gone } = await editorOf(act);
    const signal = await asked;
    const called = errorOf(editor.call("session/prompt", prompt(BACKLOG)));
    const stream = errorOf(streamed(editor));
    await editor.close();
    for (const error of [await called, await stream]) {
      expect(error).toBeInstanceOf(Disconnected);
      expect((error as Error).message).toMatch(how);
    }
    expect(signal.aborted).toBe(true);
    await gone();
  });

  it("is gone after an abort, whose reason all that is open gets", { timeout: WITHIN }, async () => {
    const controller = new AbortController();
    const { editor, asked, gone } = await editorOf(act, { signal: controller.signal });
    const signal = await asked;
    const opened = [editor.call("session/prompt", prompt(BACKLOG)), streamed(editor)].map(errorOf);
    const reason = new Error("not wanted");
    controller.abort(reason);
    for (const error of await Promise.all(opened)) expect([reason, expect.any(Disconnected)]).toContainEqual(error);
    expect(signal.aborted).toBe(true);
    await gone();
  });
});

/** The programs that leave the conversation by themselves. One whose child holds the pipes goes on until it is closed. */
const LEAVING = PROGRAMS.filter(
  ([act, how]) => /closed|ended with/.test(how.source) && act !== "has a child that holds the pipes",
);

describe.each(LEAVING)("a program that %s", (act, how) => {
  it("ends an open call, a stream and a question of its own without a close()", { timeout: WITHIN }, async () => {
    const { editor, asked, gone } = await editorOf(act);
    const signal = await asked;
    const opened = [editor.call("session/prompt", prompt("")), streamed(editor)].map(errorOf);
    for (const error of await Promise.all(opened)) {
      expect(error).toBeInstanceOf(Disconnected);
      expect((error as Error).message).toMatch(how);
    }
    expect(signal.aborted).toBe(true);
    await gone();
  });

  it("ends a question of its own while nothing is written", { timeout: WITHIN }, async () => {
    const { editor, asked, gone } = await editorOf(act);
    const signal = await asked;
    await editor.closed.catch((error) => expect(error.message).toMatch(how));
    expect(signal.aborted).toBe(true);
    await gone();
  });
});
