import { connect } from "@parlance/client";
import { foldGateway, type SendMessage } from "@parlance/protocols/fold-gateway";
import type { MessageStream } from "@parlance/wire";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** Lets time pass until something has happened, for a minute at most. */
async function eventually(happened: () => boolean): Promise<boolean> {
  for (let i = 0; i < 600 && !happened(); i++) {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(100);
  }
  return happened();
}

const TEXTS = ["0", "1", "2", "3"];
const event = (seq: number) => {
  const text = TEXTS[seq - 1];
  const data =
    text === undefined ? 'event: done\ndata: {"full_response":"all"}' : `event: text\ndata: {"text":"${text}"}`;
  return new TextEncoder().encode(`id: e.${seq}\n${data}\n\n`);
};
const comment = new TextEncoder().encode(": \n\n");

type Body = ReadableStreamDefaultController<Uint8Array>;

/** A gateway whose first body is the test's, after one message. Each join is answered with everything after its cursor. */
function served() {
  const joins: (string | null)[] = [];
  let body!: Body;
  const answer = (start: (controller: Body) => void) =>
    new Response(new ReadableStream<Uint8Array>({ start }, { highWaterMark: 0 }), {
      headers: { "Content-Type": "text/event-stream", "Parlance-Resume": "e; grace=30; beat=2" },
    });
  const fetch = async ({ method, headers }: Request) => {
    if (method === "POST")
      return answer((controller) => {
        body = controller;
        body.enqueue(event(1));
      });
    const cursor = headers.get("Last-Event-ID");
    joins.push(cursor);
    return answer((controller) => {
      for (let seq = Number(cursor?.split(".")[1]) + 1; seq <= TEXTS.length + 1; seq++) controller.enqueue(event(seq));
    });
  };
  const stream = connect(foldGateway, { fetch, random: () => 0 }).send({ content: "x" });
  return { joins, stream, body: () => body };
}

type Read = (stream: MessageStream<SendMessage>, work: () => Promise<void>) => Promise<string[]>;
const textsOf = (message: SendMessage) => (message.type === "text" ? [message.text] : []);

/** Readers of a stream, which call `work` once, in the middle of it. */
const readers: Readonly<Record<string, Read>> = {
  async "a loop"(stream, work) {
    const got: string[] = [];
    for await (const message of stream) {
      got.push(...textsOf(message));
      if (got.length === 1 && message.type === "text") await work();
    }
    return got;
  },
  async "a loop over batches"(stream, work) {
    const got: string[] = [];
    let isFirst = true;
    for await (const batch of stream.batches()) {
      got.push(...batch.flatMap(textsOf));
      if (isFirst) await work();
      isFirst = false;
    }
    return got;
  },
  async "a caller that has only awaited `opened`"(stream, work) {
    await stream.opened;
    await work();
    return readers["a loop"]!(stream, async () => {});
  },
};

const cut = (body: Body) => body.error(new Error("socket hang up"));

/** Losses of a connection after its first message. */
const losses: Readonly<Record<string, (body: Body) => void>> = {
  "a cut": cut,
  "an early end": (body) => body.close(),
  "a silent network": () => {},
  "a cut after heartbeats": (body) => {
    body.enqueue(comment);
    setTimeout(() => body.enqueue(comment), 1000);
    setTimeout(() => cut(body), 2000);
  },
  "a silent network after a heartbeat": (body) => body.enqueue(comment),
  "a cut after a message that is held": (body) => {
    body.enqueue(event(2));
    setTimeout(() => cut(body), 1000);
  },
  "a cut right after a message that is held": (body) => {
    body.enqueue(event(2));
    cut(body);
  },
};

/** Losses that only a pending read notices. None is pending while the first message is still unread. */
const silences = Object.keys(losses).filter((loss) => loss.startsWith("a silent network"));

describe("A resumable stream whose reader works", () => {
  for (const [reader, read] of Object.entries(readers))
    it.each(Object.entries(losses).filter(([loss]) => reader.startsWith("a loop") || !silences.includes(loss)))(
      `is joined again beside ${reader} after %s`,
      async (_, lose) => {
        const { joins, stream, body } = served();
        let isJoined = false;
        const work = async () => {
          lose(body());
          isJoined = await eventually(() => joins.length > 0);
        };
        expect(await read(stream, work)).toEqual(TEXTS);
        expect([isJoined, joins.length]).toEqual([true, 1]);
      },
    );

  it.each([
    ["one chunk more", { "Parlance-Resume": "e; grace=30; beat=0" }, 1],
    ["no chunk more where the server cannot resume", {}, 0],
  ])("takes %s from the network", async (_, headers, ahead) => {
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>(
      { pull: (controller) => controller.enqueue(event(++pulls)) },
      { highWaterMark: 0 },
    );
    const answer = new Response(body, { headers: { "Content-Type": "text/event-stream", ...headers } });
    const stream = connect(foldGateway, { fetch: async () => answer }).send({ content: "x" });
    let read = 0;
    for await (const _message of stream) {
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(pulls).toBe(++read + ahead);
      if (read === 3) break;
    }
    expect(read).toBe(3);
  });
});
