import { getEventListeners } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { run } from "../src/run.js";
import { folder, parlance, start, write } from "./terminal.js";

const schema = (type: string) =>
  JSON.stringify({
    title: "TextMessage",
    description: "Text.",
    type: "object",
    properties: { text: { type, description: "It." } },
    examples: [{ text: "a" }],
  });

test("lint --watch lints again after each change, tells what is broken, and ends by Ctrl-C", async () => {
  const cwd = await folder();
  await parlance(cwd, "init");
  const file = "schemas/my-agent/messages/text.json";
  const contract = "schemas/my-agent/contract.json";
  const before = await readFile(join(cwd, contract), "utf8");
  const session = start(cwd, "lint --watch");
  await session.printed("nothing is wrong");
  const changes: [text: string, printed: string][] = [
    [schema("number"), "1 wrong"],
    [schema("string"), "nothing is wrong"],
    ["{", "is not JSON"],
    [schema("string"), "nothing is wrong"],
  ];
  for (const [text, printed] of changes) {
    await write(cwd, { [file]: text });
    await session.printed(printed);
  }
  await write(cwd, { "schemas/other/contract.json": "{}" });
  await session.printed("2 contracts");
  await rm(join(cwd, "schemas"), { recursive: true });
  await session.printed("schemas is not a folder");
  await write(cwd, { [contract]: before });
  await session.printed("messages/text.json");
  expect(await session.stop()).toBe(0);
});

test.each([
  ["generate --out out --watch", "out/mine.ts"],
  ["docs --out out --watch", "out/mine.md"],
])(
  "%s writes again after a change of the contract that is extended, also of one that was broken",
  async (words, file) => {
    const cwd = await folder();
    await parlance(cwd, "init base/my-agent");
    await parlance(cwd, "init schemas/mine --extends base/my-agent");
    const base = "base/my-agent/contract.json";
    const text = await readFile(join(cwd, base), "utf8");
    const session = start(cwd, words);
    await session.printed("files written");
    await write(cwd, { [base]: text.replace("Send a prompt", "Send one prompt") });
    await session.printed("files written");
    await write(cwd, { [base]: "{" });
    await session.printed("names ../../base/my-agent");
    await write(cwd, { [base]: text.replace("Send a prompt", "Send some prompt") });
    await session.printed("files written");
    expect(await readFile(join(cwd, file), "utf8")).toContain("Send some prompt");
    expect(await session.stop()).toBe(0);
  },
);

test("a watch waits for Ctrl-C once, however often it has run again", async () => {
  const cwd = await folder();
  await parlance(cwd, "init");
  const controller = new AbortController();
  const file = "schemas/my-agent/messages/text.json";
  const waiting: number[] = [];
  let changes = 0;
  const io = {
    cwd,
    env: {},
    stdin: (async function* () {})(),
    interrupt: () => controller.signal,
    out() {},
    err(text: string) {
      // After the run, when the next change is awaited.
      if (!text.startsWith("Watching")) return;
      waiting.push(getEventListeners(controller.signal, "abort").length);
      if (++changes > 3) controller.abort();
      else void write(cwd, { [file]: schema(changes % 2 ? "number" : "string") });
    },
  };
  expect(await run(["lint", "--watch"], io)).toBe(0);
  expect(waiting).toEqual([1, 1, 1, 1]);
  expect(getEventListeners(controller.signal, "abort")).toEqual([]);
});

test("contracts that extend each other are watched, and linted after each change", async () => {
  const cwd = await folder({
    "schemas/a/contract.json": '{ "name": "a", "extends": "../b" }',
    "schemas/b/contract.json": '{ "name": "b", "extends": "../a" }',
  });
  const session = start(cwd, "lint --watch");
  await session.printed("Watching schemas; Ctrl-C ends it.\n");
  await write(cwd, { "schemas/a/contract.json": '{ "name": "a" }' });
  await session.printed("Watching schemas; Ctrl-C ends it.\n");
  expect(await session.stop()).toBe(0);
});

/** Replaces the timer that a watch waits for after a change. */
function settling() {
  const [set, clear] = [setTimeout, clearTimeout];
  const waiting = new Map<unknown, () => void>();
  let begun = 0;
  const setting = vi.spyOn(globalThis, "setTimeout").mockImplementation(((fire: () => void, delay?: number) => {
    if (delay !== 50) return set(fire, delay);
    begun++;
    waiting.set(begun, fire);
    return begun;
  }) as unknown as typeof setTimeout);
  const clearing = vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    if (!waiting.delete(timer)) clear(timer);
  });
  onTestFinished(() => {
    setting.mockRestore();
    clearing.mockRestore();
  });
  return { waiting, begun: () => begun };
}

test("a watch waits anew with each step of a change, and runs once for all of them", async () => {
  const cwd = await folder();
  await parlance(cwd, "init");
  const { waiting, begun } = settling();
  const session = start(cwd, "lint --watch");
  await session.printed("Watching schemas; Ctrl-C ends it.\n");
  for (let step = 1; step <= 3; step++) {
    const before = begun();
    await write(cwd, { "schemas/my-agent/messages/text.json": schema(step === 3 ? "number" : "string") });
    while (begun() === before) await new Promise((resolve) => setImmediate(resolve));
    expect(waiting.size).toBe(1);
  }
  expect(session.text()).toBe("");
  const [[timer, fire]] = [...waiting] as [[unknown, () => void]];
  waiting.delete(timer);
  fire();
  await session.printed("1 wrong");
  await session.printed("Watching schemas");
  const before = begun();
  await write(cwd, { "schemas/my-agent/messages/text.json": schema("string") });
  while (begun() === before) await new Promise((resolve) => setImmediate(resolve));
  expect(await session.stop()).toBe(0);
  expect(waiting.size).toBe(0);
});

test("a wrong call ends at once", async () => {
  const cwd = await folder();
  expect((await parlance(cwd, "generate --watch")).code).toBe(2);
});
