import { type ConnectOptions, connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { afterEach, describe, expect, it } from "vitest";
import { peer } from "../peer.js";

// When an async callback rejects, against what is left of the stream or channel by then.
const boom = new Error("boom");
const loose: unknown[] = [];
process.on("unhandledRejection", (error) => loose.push(error));
const turns = async () => {
  for (let i = 0; i < 10; i++) await new Promise((resolve) => setImmediate(resolve));
};
afterEach(async () => {
  await turns();
  expect(loose).toEqual([]);
});

/** An `onViolation` whose promise is rejected by the test, or at once. */
function rejecting(atOnce: boolean) {
  let reject = (): void => {};
  const onViolation = () =>
    new Promise<void>((_, fail) => {
      reject = () => fail(boom);
      if (atOnce) reject();
    }) as unknown as undefined;
  return { onViolation, reject: () => reject() };
}

const RESUME = "e1; grace=30; beat=15";
const state = (id: number, value: unknown) =>
  `id: e1.${id}\nevent: agent.state\ndata: ${JSON.stringify({ type: "agent.state", state: value })}\n\n`;

/** Two answers to a GET: the first is cut, the second goes on for ever. */
function events(resume: boolean, onViolation: ConnectOptions["onViolation"]) {
  let asked = 0;
  const fetch = async ({ method }: Request) => {
    if (method === "DELETE") return new Response(null, { status: 404 });
    const first = asked++ === 0;
    const body = new ReadableStream({
      start: (controller) =>
        controller.enqueue(
          new TextEncoder().encode(first ? state(1, 7) + state(2, "thinking") : state(3, "idle") + state(4, "idle")),
        ),
      pull: (controller) => (first ? controller.error(new Error("cut")) : new Promise(() => {})),
    });
    const headers = { "Content-Type": "text/event-stream", ...(resume && { "Parlance-Resume": RESUME }) };
    return new Response(body, { headers });
  };
  const client = connect(emacsAgent, { fetch, onViolation, resume, random: () => 0 });
  return client.events({ session_id: "s" }, { reopen: !resume })[Symbol.asyncIterator]();
}

describe.each([
  ["resumed", true],
  ["opened again", false],
])("A stream that is %s", (_, resume) => {
  it("ends with an onViolation that rejects at once", async () => {
    const { onViolation } = rejecting(true);
    const read = events(resume, onViolation);
    await expect(read.next().then(() => read.next())).rejects.toBe(boom);
  });

  it("ends with an onViolation that rejects after the connection of its message", async () => {
    const { onViolation, reject } = rejecting(false);
    const read = events(resume, onViolation);
    await read.next();
    expect(await read.next()).toMatchObject({ value: { state: "idle" } });
    reject();
    await turns();
    await expect(read.next().then(() => read.next())).rejects.toBe(boom);
    expect(await read.next()).toEqual({ done: true, value: undefined });
  });

  it("is over where an onViolation rejects after its reader has left", async () => {
    const { onViolation, reject } = rejecting(false);
    const read = events(resume, onViolation);
    await read.next();
    await read.return!();
    reject();
    await turns();
    expect(await read.next()).toEqual({ done: true, value: undefined });
  });
});

describe("A stream whose end came in the same chunk", () => {
  const text = (value: unknown) => `event: text\ndata: ${JSON.stringify({ text: value })}\n\n`;
  const body = `${text(7)}${text("a")}event: done\ndata: {"full_response":"a"}\n\n`;
  const send = (onViolation: ConnectOptions["onViolation"]) => {
    const fetch = async () => new Response(body, { headers: { "Content-Type": "text/event-stream" } });
    return connect(foldGateway, { fetch, onViolation }).send({ content: "x" })[Symbol.asyncIterator]();
  };

  it.each([true, false])("ends with an onViolation that rejects before that is read (at once: %s)", async (atOnce) => {
    const { onViolation, reject } = rejecting(atOnce);
    const read = send(onViolation);
    await read.next();
    reject();
    await turns();
    expect(await read.next()).toMatchObject({ value: { type: "done" } });
    await expect(read.next()).rejects.toBe(boom);
  });

  it("is over where an onViolation rejects after that", async () => {
    const { onViolation, reject } = rejecting(false);
    const read = send(onViolation);
    for (let done = false; !done; ) done = (await read.next()).done === true;
    reject();
    await turns();
    expect(await read.next()).toEqual({ done: true, value: undefined });
  });
});

describe.each(["base", "resume"] as const)("A channel (%s)", (mode) => {
  const open = async (onViolation: ConnectOptions["onViolation"]) => {
    const served = peer({ mode, extra: "invalid", cutSocket: mode === "resume" });
    const session = await connect(based, { ...served, onViolation, random: () => 0 }).session();
    const asked = session.ask({ type: "list_files" }).catch((error: unknown) => error);
    return { session, asked };
  };

  it("ends with an onViolation that rejects at once", async () => {
    const { session } = await open(rejecting(true).onViolation);
    await expect(session.closed).rejects.toBe(boom);
  });

  it("ends with an onViolation that rejects late", async () => {
    const { onViolation, reject } = rejecting(false);
    const { session, asked } = await open(onViolation);
    await asked;
    reject();
    await expect(session.closed).rejects.toBe(boom);
  });

  it("is over where an onViolation rejects after its end", async () => {
    const { onViolation, reject } = rejecting(false);
    const { session, asked } = await open(onViolation);
    await asked;
    await session.close();
    reject();
    await turns();
    expect(await session.closed).toMatchObject({ code: 1000 });
  });
});
