import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { memoryLog } from "@parlance/server/resume";

// A process of its own: reads streams of so many characters, all kept for their grace period, and writes one line of JSON.

/** What became of the streams. */
export interface Kept {
  readonly seconds: number;
  /** Characters that the log held at most, by `stats()`. */
  readonly most: number;
  /** Bytes of heap, after collection, more than before. */
  readonly grown: number;
  /** The status for a reader that joins each stream again after its first message, in the order of their beginning. */
  readonly statuses: readonly number[];
  /** The gap that the oldest one is shown. */
  readonly gap: string | null;
  /** The status, and the first text, for one that joins the stream that began first and is not finished. */
  readonly unfinished: readonly [number, boolean];
}

const MESSAGE = 64 * 1024;
const STREAM = 2 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const [total, maxTotal] = process.argv.slice(2).map(Number) as [number, number];
const handlers = {
  async *send({ content }, { signal }) {
    if (content === "unfinished") {
      yield { type: "text", text: "first" };
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      return;
    }
    for (let sent = 0; sent < STREAM; sent += MESSAGE)
      yield { type: "text", text: content.repeat(MESSAGE / content.length) };
    yield { type: "done", full_response: "" };
  },
} as Partial<FoldGatewayHandlers> as FoldGatewayHandlers;
const app = serve(foldGateway, handlers, { partial: true, log: memoryLog({ maxTotal }), grace: 600_000 });

const keyOf = (place: number): string => place.toString(16).padStart(32, "0");

function begin(place: number, content: string): Promise<Response> {
  const headers = { "Content-Type": "application/json", "Parlance-Resume": keyOf(place) };
  return app.fetch(
    new Request("http://localhost/api/send", { method: "POST", headers, body: JSON.stringify({ content }) }),
  );
}

function join(place: number, epoch: string, after: number): Promise<Response> {
  const headers = { "Parlance-Resume": keyOf(place), "Last-Event-ID": `${epoch}.${after}` };
  return app.fetch(new Request("http://localhost/api/send", { headers }));
}

const epochOf = (answer: Response): string => answer.headers.get("Parlance-Resume")!.split(";")[0]!;

const first = await begin(0, "unfinished");
await first.body!.cancel();
collect();
const before = process.memoryUsage().heapUsed;
const started = performance.now();
const epochs: string[] = [];
let most = 0;
for (let read = 0; read < total; read += STREAM) {
  const answer = await begin(epochs.length + 1, String(epochs.length % 10).repeat(16));
  epochs.push(epochOf(answer));
  for await (const _ of answer.body!) most = Math.max(most, app.stats().logged);
}
const seconds = (performance.now() - started) / 1000;
collect();
const grown = process.memoryUsage().heapUsed - before;
const statuses: number[] = [];
let gap: string | null = null;
for (const [i, epoch] of epochs.entries()) {
  const answer = await join(i + 1, epoch, 1);
  statuses.push(answer.status);
  if (i === 0) gap = answer.headers.get("Parlance-Resume");
  await answer.body?.cancel();
}
const again = await join(0, epochOf(first), 0);
const { value } = await again.body!.getReader().read();
const unfinished = [again.status, new TextDecoder().decode(value).includes("first")] as const;
console.log(JSON.stringify({ seconds, most, grown, statuses, gap, unfinished } satisfies Kept));
process.exit();
