import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { assemble } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { aiUi } from "@parlance/protocols/ai-ui";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import type { ContractValue } from "@parlance/wire";
import { afterEach, expect, it, vi } from "vitest";
import { calls } from "../../../language/test/calls.js";
import { peer } from "../peer.js";

type Connect = typeof import("@parlance/client").connect;

const resuming = peer({ mode: "resume" });
const refusing = { fetch: async () => Response.json({ error: "no such agent" }, { status: 404 }) };
/** The contract with header parameters and bytes. */
const bytes = (value: object) =>
  ({
    ...value,
    format: 1,
    name: "bytes",
    url: "http://localhost",
    messages: {},
    channels: {},
    fault: { schema: "x", text: ["/error"] },
    checks: {},
    reads: {},
    operations: { get: { method: "GET", path: "/x", answer: { binary: "application/octet-stream" }, transfer: true } },
  }) as unknown as ContractValue<{ get(): Promise<unknown> }, unknown>;

const methods = contractValue(assemble(calls())) as ContractValue<
  { talk(handlers: object): Promise<unknown> },
  unknown
>;

const lost = (retryable: boolean) => ({ name: "Disconnected", code: "unreachable", retryable });
const last = async (messages: AsyncIterable<{ readonly type: string }>) => {
  const types: string[] = [];
  for await (const { type } of messages) types.push(type);
  return types;
};

/** Each part that is loaded when a conversation first needs it, a call that needs it, and the call's error. */
const parts: Readonly<Record<string, readonly [call: (connect: Connect) => Promise<unknown>, error: object]>> = {
  "transfer.js": [(connect) => connect(bytes({}), refusing).get(), lost(true)],
  "causes.js": [
    (connect) => connect(foldGateway, refusing).listAgents(),
    { name: "Refusal", status: 404, bare: false },
  ],
  "stream/open-stream.js": [(connect) => last(connect(foldGateway, resuming).send({ content: "x" })), lost(true)],
  "stream/adapted.js": [
    (connect) => last(connect(emacsAgent, resuming).events({ session_id: "s" }, { reopen: true })),
    lost(true),
  ],
  "stream/reopening.js": [
    (connect) => last(connect(emacsAgent, resuming).events({ session_id: "s" }, { reopen: true })),
    lost(true),
  ],
  "stream/joining.js": [
    (connect) => last(connect(aiUi, resuming).chat({ id: "c", messages: [], trigger: "submit-message" })),
    lost(true),
  ],
  "channel/channel.js": [(connect) => connect(based, resuming).session(), lost(true)],
  "channel/methods.js": [(connect) => connect(methods, resuming).talk({}), lost(true)],
};
/** Parts without which a call goes on plainly, and those that only a foreign answer needs. */
const optional = ["channel/resumable.js", "stream/resuming.js", "unusual.js"];

afterEach(() => {
  for (const part in parts) vi.doUnmock(`../../src/${part}`);
  expect(resuming.open).toEqual({ bodies: 0, sockets: 0 });
});

it.each(Object.keys(parts))(
  "a call that needs %s, which cannot be loaded, fails with an error that says so",
  async (part) => {
    vi.resetModules();
    vi.doMock(`../../src/${part}`, () => Promise.reject(new Error("offline")));
    const { connect } = await import("@parlance/client");
    const [call, error] = parts[part]!;
    await expect(call(connect)).rejects.toMatchObject({
      ...error,
      message: expect.stringMatching(/could not be loaded|reason not read/),
    });
  },
);

it("a stream is read plainly where the code of resume cannot be loaded", async () => {
  vi.resetModules();
  vi.doMock("../../src/stream/resuming.js", () => Promise.reject(new Error("offline")));
  const { connect } = await import("@parlance/client");
  expect(await last(connect(foldGateway, resuming).send({ content: "x" }))).toEqual(["text", "done"]);
  vi.doUnmock("../../src/stream/resuming.js");
});

it("a channel is opened plainly where the code of resume cannot be loaded", async () => {
  vi.resetModules();
  vi.doMock("../../src/channel/resumable.js", () => Promise.reject(new Error("offline")));
  const { connect } = await import("@parlance/client");
  const channel = await connect(based, resuming).session();
  expect(await channel.ask({ type: "list_files" })).toMatchObject({ type: "file_list" });
  await channel.close();
  vi.doUnmock("../../src/channel/resumable.js");
});

it("a stream whose request was lost, and whose code of resume cannot be loaded, fails with the loss as the cause", async () => {
  vi.resetModules();
  vi.doMock("../../src/stream/resuming.js", () => Promise.reject(new Error("offline")));
  const { connect } = await import("@parlance/client");
  const cut = new TypeError("fetch failed");
  const answer = connect(foldGateway, { fetch: () => Promise.reject(cut), retryWaits: [] }).send({ content: "x" });
  await expect(answer.opened).rejects.toMatchObject({
    ...lost(false),
    message: expect.stringContaining("could not be loaded"),
    cause: { code: "unreachable", message: expect.stringMatching(/^fold-gateway\.send: no answer from /), cause: cut },
  });
});

/** Lets the code that resumes streams load when the test says so. */
async function loadingLate() {
  vi.resetModules();
  let load = () => {};
  const asked = new Promise<void>((resolve) => {
    vi.doMock("../../src/stream/resuming.js", async (original) => {
      resolve();
      await new Promise<void>((go) => {
        load = go;
      });
      return original();
    });
  });
  const { connect } = await import("@parlance/client");
  return { connect, asked, load: () => load() };
}

it("messages that arrive while the code of resume is loaded are delivered once and in order", async () => {
  const { connect, asked, load } = await loadingLate();
  const read = last(connect(foldGateway, resuming).send({ content: "x" }));
  await asked;
  load();
  expect(await read).toEqual(["text", "done"]);
});

it("a stream that is cancelled while the code of resume is loaded ends on the server too", async () => {
  const { connect, asked, load } = await loadingLate();
  const served = peer({ mode: "resume", hold: true });
  const stream = connect(foldGateway, served).send({ content: "x" });
  await asked;
  stream.cancel();
  load();
  expect(await last(stream)).toEqual([]);
  await vi.waitFor(() => expect(served.methods).toEqual(["POST", "DELETE"]));
  expect(served.open.bodies).toBe(0);
});

it("loads the code of streams and of channels with the first of each", async () => {
  vi.resetModules();
  const loaded: string[] = [];
  const all = ["channel/channel.js", "stream/open-stream.js"];
  for (const part of all)
    vi.doMock(`../../src/${part}`, (original) => {
      loaded.push(part);
      return original();
    });
  const { connect } = await import("@parlance/client");
  const served = peer({ mode: "base" });
  const gateway = connect(foldGateway, served);
  expect(await gateway.listAgents()).toEqual([]);
  expect(loaded).toEqual([]);
  expect(await last(gateway.send({ content: "x" }))).toEqual(["text", "done"]);
  const channel = await connect(based, served).session();
  expect(await channel.ask({ type: "list_files" })).toEqual({ type: "file_list", files: [], activeFile: null });
  await channel.close();
  expect(loaded.sort()).toEqual(all);
  expect(served.open).toEqual({ bodies: 0, sockets: 0 });
});

it("is tested for each part of the client that is loaded late", () => {
  const source = fileURLToPath(new URL("../../src", import.meta.url));
  const files = readdirSync(source, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".ts"));
  const late = files.flatMap((path) =>
    [...readFileSync(`${source}/${path}`, "utf8").matchAll(/\bimport\("(\.[^"]+)"\)/g)].map(([, to]) =>
      posix.join(posix.dirname(path), to!),
    ),
  );
  expect([...new Set(late)].sort()).toEqual([...Object.keys(parts), ...optional].sort());
});
