import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect } from "@parlance/client";
import { createAgent } from "./agent.js";
import { ask, type User } from "./editor.js";
import { myAgent as contract } from "./protocols/my-agent.js";

const file = { path: "greet.py", text: 'print("Hello")\n' };

class TestUser implements User {
  shown = "";
  readonly #agrees: boolean;
  constructor(agrees: boolean) {
    this.#agrees = agrees;
  }
  show(text: string): void {
    this.shown += text;
  }
  async allows(): Promise<boolean> {
    return this.#agrees;
  }
}

/** The agent and its client in one process, and a project of one file. */
async function start(context: TestContext) {
  const root = await mkdtemp(join(tmpdir(), "my-agent-"));
  const app = createAgent();
  context.after(async () => {
    await app.close();
    await rm(root, { recursive: true });
  });
  await writeFile(join(root, file.path), file.text);
  const agent = connect(contract, { fetch: app.fetch, webSocket: app.webSocket });
  return { agent, root, read: () => readFile(join(root, file.path), "utf8") };
}

test("a prompt runs its tools and changes the file, when the user agrees", async (context) => {
  const { agent, root, read } = await start(context);
  const user = new TestUser(true);
  const done = await ask(agent, { text: "Say hello", file }, root, user);
  assert.equal(done.text, "You said: Say hello");
  assert.match(user.shown, /\[current_time\] 2.*\n.*\[count_lines\] 1\n/s);
  assert.equal(await read(), `# Say hello\n${file.text}`);
});

test("nothing changes when the user refuses", async (context) => {
  const { agent, root, read } = await start(context);
  const user = new TestUser(false);
  await ask(agent, { text: "Say hello", file }, root, user);
  assert.doesNotMatch(user.shown, /current_time/);
  assert.match(user.shown, /The edit was not applied: the user refused it/);
  assert.equal(await read(), file.text);
});

test("an edit that no longer fits is refused, with the reason", async (context) => {
  const { agent, root, read } = await start(context);
  await writeFile(join(root, file.path), "other\n");
  const user = new TestUser(true);
  await ask(agent, { text: "Say hello", file }, root, user);
  assert.match(user.shown, /The edit was not applied: .*greet.py/);
  assert.equal(await read(), "other\n");
});

test("a turn is stopped while it asks", async (context) => {
  const { agent, root, read } = await start(context);
  const stop = new AbortController();
  const allows = async () => {
    stop.abort();
    return false;
  };
  const done = await ask(agent, { text: "Say hello", file }, root, { show() {}, allows }, stop.signal);
  assert.equal(done.cancelled, true);
  assert.equal(await read(), file.text);
});

test("a session that nobody opened is refused", async (context) => {
  const { agent } = await start(context);
  const session = await agent.session({ session_id: "s1" });
  const { value } = await session[Symbol.asyncIterator]().next();
  assert.deepEqual(value, { type: "error", error: "there is no session s1" });
});
