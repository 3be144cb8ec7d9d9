import { type ConnectOptions, connect, type Disconnected, type Refusal, type Violation } from "@parlance/client";
import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { describe, expect, it } from "vitest";

const text = (word: string) => `event: text\ndata: {"text":"${word}"}\n\n`;
const done = `event: done\ndata: {"full_response":"ab"}\n\n`;
const type = { "Content-Type": "text/event-stream" };
let cancelled = false;

/** A body of these chunks, which then ends, is cut, or stays open. */
function body(chunks: readonly string[], end: "end" | "cut" | "hold"): ReadableStream<Uint8Array> {
  cancelled = false;
  let at = 0;
  return new ReadableStream(
    {
      pull(controller) {
        if (at < chunks.length) return controller.enqueue(new TextEncoder().encode(chunks[at++]));
        if (end === "hold") return new Promise(() => {});
        if (end === "cut") controller.error(new Error("cut"));
        else controller.close();
      },
      cancel() {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
}

const answering = (chunks: readonly string[], end: "end" | "cut" | "hold" = "end"): ConnectOptions => ({
  baseUrl: "http://localhost",
  resume: false,
  fetch: async () => new Response(body(chunks, end), { headers: type }),
});

/** What a loop has read, and the error that ended it. */
async function outcome(read: (got: unknown[]) => Promise<void>): Promise<unknown[]> {
  const got: unknown[] = [];
  try {
    await read(got);
  } catch (error) {
    const { name, message, code } = error as Disconnected | Violation | Refusal;
    got.push({ name, message, code });
  }
  return got;
}

describe("batches", () => {
  it("are what each read of the network brought", async () => {
    const sizes: number[] = [];
    const chunks = [text("a") + text("b"), "event: text\nda", `ta: {"text":"c"}\n\n${text("d")}`, text("e"), done];
    const stream = connect(foldGateway, answering(chunks)).send({ content: "x" });
    for await (const batch of stream.batches()) sizes.push(batch.length);
    expect(sizes).toEqual([2, 2, 1, 1]);
  });

  const whole = text("a") + text("b");
  const endings: Record<string, ConnectOptions> = {
    "its last message": answering([whole + done]),
    "a cut": answering([whole], "cut"),
    "an end without a last message": answering([whole]),
    "a message that breaks its schema": answering([whole + text("c").replace('"c"', "1") + text("d"), done]),
    "a refusal": {
      ...answering([]),
      retryWaits: [],
      fetch: async () => new Response(`{"error":"no"}`, { status: 503 }),
    },
    "a fetch that fails": {
      ...answering([]),
      retryWaits: [],
      fetch: () => Promise.reject(new TypeError("fetch failed")),
    },
    "a callback that throws": {
      ...answering([`${whole}event: other\ndata: {}\n\n${text("c")}`, done]),
      onUnknown() {
        throw new Error("the callback");
      },
    },
  };
  it.each(Object.keys(endings))("end as the plain loop does, with %s", async (ending) => {
    const send = () => connect(foldGateway, endings[ending]).send({ content: "x" });
    const one = await outcome(async (got) => {
      for await (const message of send()) got.push(message);
    });
    const many = await outcome(async (got) => {
      for await (const batch of send().batches()) {
        expect(batch).not.toEqual([]);
        got.push(...batch);
      }
    });
    expect(many).toEqual(one);
    expect(one.length).toBeGreaterThan(0);
  });

  it("cancel the stream where their loop is left", async () => {
    for await (const _ of connect(foldGateway, answering([text("a")], "hold"))
      .send({ content: "x" })
      .batches())
      break;
    expect(cancelled).toBe(true);
  });

  it("go over to the next connection of a stream that is opened again", async () => {
    const state = (name: string) => `data: {"type":"agent.state","state":"${name}"}\n\n`;
    const bodies = [
      [state("idle") + state("thinking"), "cut"],
      [state("thinking") + state("idle"), "hold"],
    ] as const;
    let asked = 0;
    const emacs = connect(emacsAgent, {
      baseUrl: "http://localhost",
      resume: false,
      async fetch() {
        const [chunk, end] = bodies[asked++]!;
        return new Response(body([chunk], end), { headers: type });
      },
    });
    const sizes: number[] = [];
    for await (const batch of emacs.events({ session_id: "s" }, { reopen: true }).batches()) {
      sizes.push(batch.length);
      if (sizes.length === 2) break;
    }
    expect(sizes).toEqual([2, 2]);
    expect(cancelled).toBe(true);
  });
});
