import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, Disconnected, Violation } from "@parlance/client";
import { type ProgramOptions, program } from "@parlance/client/node";
import { based } from "@parlance/protocols/based";
import { describe, expect, it } from "vitest";
import { marked } from "./processes.js";

const agent = fileURLToPath(new URL("./agent.mjs", import.meta.url));
const soon = { endWithin: 150 };

function start(fault: string, frame = 0, options: ProgramOptions = soon) {
  const { env, left } = marked();
  const started = program(process.execPath, [agent, fault, String(frame)], { ...options, env });
  return { started, left, gone: () => expect.poll(left, { timeout: 20_000 }).toEqual([]) };
}

/** A whole turn. Resolves with the names of the agent's frames, or with them and the error that ended the turn. */
async function turn(started: ReturnType<typeof program>, options = {}, signal?: AbortSignal) {
  const heard: string[] = [];
  try {
    const channel = await connect(based, { ...started, ...options }).session();
    try {
      const frames = channel[Symbol.asyncIterator]();
      const first = await (signal ? untilAborted(frames.next(), signal) : frames.next());
      if (first.done) throw new Error("ended before its first frame");
      heard.push(first.value.type);
      heard.push((await channel.ask({ type: "list_files" }, { signal })).type);
      heard.push((await channel.ask({ type: "prompt", prompt: "an agent" }, { signal })).type);
    } finally {
      await channel.close();
    }
    const { code } = await channel.closed;
    return { heard, code };
  } catch (error) {
    return {
      heard,
      error: error as Error & { code: string; details?: { body: string; exitCode?: number; signal?: string } },
    };
  }
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    promise,
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  ]);
}

const TURN = ["initial_state", "file_list", "file_created"];

describe("a program", () => {
  it("is talked with on its standard input and output, and ends with its channel", async () => {
    const { started, gone } = start("none");
    expect(await turn(started)).toEqual({ heard: TURN, code: 1000 });
    await gone();
  });

  it("is one for each channel that is opened", async () => {
    const { started, left, gone } = start("none");
    const client = connect(based, started);
    {
      await using one = await client.session();
      await using other = await client.session();
      for (const channel of [one, other]) for await (const _ of channel) break;
      if (process.platform === "linux") expect(left()).toHaveLength(2);
    }
    await gone();
  });

  it("ends when the signal of its channel aborts", async () => {
    const { started, gone } = start("none");
    const controller = new AbortController();
    const channel = await connect(based, started).session({ signal: controller.signal });
    controller.abort(new Error("not wanted"));
    await expect(channel.closed).rejects.toThrow("not wanted");
    await gone();
  });

  it("ends when it is aborted while it starts", async () => {
    const { started, gone } = start("none");
    const controller = new AbortController();
    const opening = connect(based, started).session({ signal: controller.signal });
    controller.abort(new Error("not wanted"));
    await expect(opening).rejects.toThrow("not wanted");
    await gone();
  });

  it("gives its standard error to a callback, whose failure ends the channel", async () => {
    const said: string[] = [];
    const told = start("exits 3 with a reason", 1, { ...soon, onStderr: (text) => void said.push(text) });
    await turn(told.started);
    expect(said.join("")).toContain("no model is configured");
    const wrong = new Error("the log is full");
    const { error } = await turn(
      start("exits 3 with a reason", 1, {
        onStderr: () => {
          throw wrong;
        },
      }).started,
    );
    expect(error).toBeInstanceOf(Disconnected);
    expect((error!.cause as Error).cause).toBe(wrong);
  });

  it("is killed when this process exits without closing its channel", async () => {
    const { env, left } = marked();
    const leaver = fileURLToPath(new URL("./leaver.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", leaver], { env, stdio: ["ignore", "pipe", "inherit"] });
    const [said] = await once(child.stdout, "data");
    expect(String(said)).toBe("deaf\n");
    await once(child, "exit");
    expect(child.exitCode).toBe(7);
    await expect.poll(left, { timeout: 20_000 }).toEqual([]);
  });

  it("carries no operation", async () => {
    const { started } = start("none");
    await expect(started.fetch(new Request("http://x"))).rejects.toThrow("is a program, which carries channels");
  });

  it.each([
    [["", []], "the command of a program is a text"],
    [["agent", "--acp"], "the arguments of agent are a list of texts"],
    [["agent", [], { cwd: 1 }], "cwd must be a string"],
    [["agent", [], { onStderr: "log" }], "onStderr must be a function"],
    [["agent", [], { endWithin: -1 }], "endWithin"],
  ])("refuses %j", (given, text) => {
    expect(() => program(...(given as unknown as Parameters<typeof program>))).toThrow(text);
  });
});

describe("a program that does not start", () => {
  const folder = mkdtempSync(join(tmpdir(), "parlance-program-"));
  const file = join(folder, "not-executable");
  writeFileSync(file, "#!/bin/sh\n");
  chmodSync(file, 0o644);
  it.each([
    [
      "is not there",
      "no-such-agent-here",
      {},
      "no-such-agent-here was not started: there is no such program: install it",
    ],
    ["may not be executed", file, {}, "may not be executed"],
    ["has no folder to run in", process.execPath, { cwd: join(folder, "gone") }, "there is no folder"],
  ])("is Disconnected: it %s", async (_, command, options, text) => {
    const { heard, error } = await turn(program(command, [], options));
    expect(heard).toEqual([]);
    expect(error).toMatchObject({ name: "Disconnected", code: "unreachable", retryable: false });
    expect(error!.message).toContain(text);
  });
});

const ENDS: readonly (readonly [fault: string, text: RegExp, details: object])[] = [
  ["exits 0", /^based\.session: \S+ ended with code 0$/, { exitCode: 0 }],
  ["exits 3", /ended with code 3$/, { exitCode: 3 }],
  ["exits 3 with a reason", /ended with code 3: Error: no model is configured$/, { exitCode: 3 }],
  ["exits 3 after 10 MB of stderr", /ended with code 3: the last line$/, { exitCode: 3 }],
  ["is killed", /was ended by SIGKILL$/, { signal: "SIGKILL" }],
  ["dies in the middle of a line", /ended with code 3, after 15 bytes of a line without an end$/, { exitCode: 3 }],
  ["ends its output, and goes on", /closed its standard output, was ended by SIGTERM$/, { signal: "SIGTERM" }],
  ["leaves a process that holds its output", /ended with code 3$/, { exitCode: 3 }],
  ["leaves a process outside of its group", /ended with code 3$/, { exitCode: 3 }],
];

describe.each(ENDS)("a program that %s", (fault, text, details) => {
  it.each([0, 1, 2])("is Disconnected at frame %d, and leaves nothing", async (frame) => {
    const { started, gone } = start(fault, frame);
    const { heard, error } = await turn(started);
    expect(heard).toEqual(TURN.slice(0, frame));
    // A program that ends in order before its first frame has closed the channel, as a server may.
    if (fault === "exits 0" && frame === 0) expect(error!.message).toBe("ended before its first frame");
    else {
      expect(error).toMatchObject({ name: "Disconnected", code: "closed", details });
      expect(error!.message).toMatch(text);
      expect(error!.details!.body.length).toBeLessThanOrEqual(16 * 1024);
    }
    await gone();
  });
});

describe.each(["hangs", "ignores the end of its input, and SIGTERM", "ends its input, and goes on"])(
  "a program that %s",
  (fault) => {
    it.each([0, 1, 2])("is left at frame %d by the caller's signal, and ends", async (frame) => {
      const { started, gone } = start(fault, frame);
      const controller = new AbortController();
      const turning = turn(started, {}, controller.signal);
      setTimeout(() => controller.abort(new Error("too slow")), 300);
      const { error } = await turning;
      // Its input is broken for the one that ended it: that is found by the first write.
      expect(error!.message).toMatch(/too slow|closed its standard input, was ended by SIGTERM/);
      await gone();
    });
  },
);

describe("a program's lines", () => {
  it.each([
    ["writes what is not JSON", "malformed_json"],
    ["writes invalid UTF-8", "malformed_json"],
    ["writes a line of 100 MB", "too_large"],
  ])("are a Violation where it %s, and nothing is left", async (fault, code) => {
    for (const frame of [0, 1, 2]) {
      const { started, gone } = start(fault, frame);
      const { error } = await turn(started);
      expect(error).toBeInstanceOf(Violation);
      expect(error).toMatchObject({ code, side: "server" });
      await gone();
    }
  });

  it.each([
    "writes what is not JSON",
    "writes invalid UTF-8",
    "writes a line of 100 MB",
    "writes blank lines, and CRLF",
  ])("are read on by a client that lets a violation pass, where it %s", async (fault) => {
    const violations: string[] = [];
    const onViolation = ({ code }: Violation) => void violations.push(code);
    const { started, gone } = start(fault, 1);
    expect(await turn(started, { onViolation })).toEqual({ heard: TURN, code: 1000 });
    expect(violations).toHaveLength(fault.includes("CRLF") ? 0 : 1);
    await gone();
  });

  it("are read to the last, where only its end is missing", async () => {
    const { started, gone } = start("ends after a line without an end");
    const read: string[] = [];
    for await (const { type } of await connect(based, started).session()) read.push(type);
    expect(read).toEqual(["initial_state"]);
    await gone();
  });

  it("come no faster than their reader takes them", async () => {
    const { started, gone } = start("floods");
    const channel = await connect(based, { ...started, maxQueued: 4 * 1024 * 1024 }).session();
    let read = 0;
    for await (const _ of channel) {
      // Longer than it takes to write one: without pacing more than `maxQueued` would wait.
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (++read === 400) break;
    }
    await channel.close();
    await gone();
  });

  it("end the channel of a reader that takes none of a flood", async () => {
    const { started, gone } = start("floods");
    const channel = await connect(based, { ...started, maxQueued: 256 * 1024 }).session();
    await expect(channel.closed).rejects.toMatchObject({ name: "Disconnected", code: "slow_reader" });
    await gone();
  });

  it("are bounded where the program does not read them", async () => {
    const { started, gone } = start("hangs");
    const channel = await connect(based, { ...started, maxQueued: 1024 * 1024 }).session();
    const prompt = { type: "upload_file", filename: "a", content: "x".repeat(300_000) } as const;
    expect(() => {
      for (let sent = 0; sent < 100; sent++) void channel.send(prompt).catch(() => {});
    }).toThrow(/characters wait|bytes wait/);
    await channel.close();
    await gone();
  });
});
