import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { expect, test } from "vitest";
import { measureGrowth } from "../../../edits/test/growth.js";

/** The messages of a long test are as many as an agent writes in a day. */
const many = process.env.PARLANCE_LONG ? 100_000 : 5_000;
const event = (text: string) => `event: text\ndata: {"text":"${text}"}\n\n`;
const done = `event: done\ndata: {"full_response":""}\n\n`;

/** Reads a stream of these bytes, so many at a time. */
async function read(bytes: Uint8Array, chunk: number): Promise<void> {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + chunk));
      at += chunk;
    },
  });
  const fetch = async () => new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  const options = { baseUrl: "http://localhost", resume: false, fetch, maxMessageSize: Number.POSITIVE_INFINITY };
  for await (const _ of connect(foldGateway, options).send({ content: "x" }));
}

const bytesOf = (text: string) => new TextEncoder().encode(text + done);

test.each<[what: string, size: number, run: (size: number) => () => Promise<void>]>([
  [
    "messages in one chunk",
    many,
    (size) => {
      const bytes = bytesOf(event("the next piece of an answer").repeat(size));
      return () => read(bytes, bytes.length);
    },
  ],
  [
    "messages in chunks of 61 bytes",
    many / 5,
    (size) => {
      const bytes = bytesOf(event("the next piece of an answer").repeat(size));
      return () => read(bytes, 61);
    },
  ],
  [
    "one event in chunks of 1 KiB",
    1024 * 1024,
    (size) => {
      const bytes = bytesOf(event("x".repeat(size)));
      return () => read(bytes, 1024);
    },
  ],
])("twice as much of %s takes twice the time", { timeout: 120_000 }, async (_, size, run) => {
  expect(await measureGrowth(run, size, 2.3)).toBeLessThanOrEqual(2.3);
});
