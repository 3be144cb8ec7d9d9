import { type ConnectOptions, connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { serve } from "@parlance/server";
import { afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";

// Resume may only improve an outcome: each case is run with and without it. What servers of other kinds do to channels is in
// foreign-servers.test.ts, and code that cannot be loaded in unloaded.test.ts.

// The code of streams is loaded when it is first used.
beforeAll(async () => {
  for (const resume of [false, true])
    await connect(foldGateway, { fetch: async () => streamed(), resume })
      .send({ content: "x" })
      .text();
});
beforeEach(
  () => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] }),
);
afterEach(() => void vi.useRealTimers());

type Fetch = NonNullable<ConnectOptions["fetch"]>;
const SECOND = 1000;
const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A server of ours whose agent says nothing for so long. */
function silentFor(milliseconds: number) {
  let runs = 0;
  const app = serve(
    foldGateway,
    {
      async *send() {
        runs++;
        await wait(milliseconds);
        yield { type: "text", text: "said" };
        yield { type: "done", full_response: "" };
      },
    },
    { partial: true },
  );
  onTestFinished(() => app.close());
  return { app, runs: () => runs };
}

/** A proxy that passes an answer on once it has ended, as some scan it first. It cancels what its client has left. */
const gathering =
  (fetch: Fetch): Fetch =>
  async (request) => {
    const answer = await fetch(request);
    const left = new Promise<never>((_, reject) =>
      request.signal.addEventListener("abort", () => reject(request.signal.reason), { once: true }),
    );
    left.catch(() => {});
    const reader = answer.body?.getReader();
    const chunks: Uint8Array[] = [];
    try {
      for (;;) {
        const step = await Promise.race([reader?.read(), left]);
        if (!step || step.done) break;
        chunks.push(step.value);
      }
    } catch (error) {
      reader?.cancel().catch(() => {});
      throw error;
    }
    return new Response(new Blob(chunks as BlobPart[]), answer);
  };

/** The same, but for its headers, which it passes on when they come. */
const gatheringBodies =
  (fetch: Fetch): Fetch =>
  async (request) => {
    const answer = await fetch(request);
    const reader = answer.body?.getReader();
    if (!reader) return answer;
    const chunks: Uint8Array[] = [];
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        for (let step = await reader.read(); !step.done; step = await reader.read()) chunks.push(step.value);
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    });
    return new Response(body, answer);
  };

const events = 'event: text\ndata: {"text":"said"}\n\nevent: done\ndata: {"full_response":""}\n\n';
const streamed = (headers: Record<string, string> = {}, text = events) =>
  new Response(text, { headers: { "Content-Type": "text/event-stream", ...headers } });
const cutAfter = (text: string) =>
  new Response(
    new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(text)),
      pull: (controller) => controller.error(new TypeError("cut")),
    }),
    { headers: { "Content-Type": "text/event-stream" } },
  );

/** How a server answers, and how the call ends without resume. */
const cases: Readonly<Record<string, readonly [fetch: () => Fetch, outcome: string]>> = {
  ...Object.fromEntries(
    [10, 60, 200].flatMap((seconds) => [
      [
        `a run of ${seconds} s behind a proxy that gathers answers`,
        [() => gathering(silentFor(seconds * SECOND).app.fetch), "said"],
      ],
      [
        `a run of ${seconds} s behind a proxy that gathers bodies`,
        [() => gatheringBodies(silentFor(seconds * SECOND).app.fetch), "said"],
      ],
      [`a run of ${seconds} s`, [() => silentFor(seconds * SECOND).app.fetch, "said"]],
    ]),
  ),
  "a server that repeats headers": [
    () => async (request) => streamed({ "Parlance-Resume": request.headers.get("Parlance-Resume") ?? "" }),
    "said",
  ],
  "a server whose header is of another form": [() => async () => streamed({ "Parlance-Resume": "v2; x=1" }), "said"],
  "a server that numbers its events": [
    () => async () => streamed({}, events.replaceAll("event:", "id: e1.9\nevent:")),
    "said",
  ],
  "a server that refuses": [() => async () => Response.json({ error: "no" }, { status: 403 }), "Refusal status_403"],
  "a server that cannot read the request": [
    () => async () => new Response(null, { status: 400 }),
    "Refusal status_400",
  ],
  "a server that is cut": [() => async () => cutAfter(events.slice(0, 20)), "Disconnected ended_early"],
  "a server that is cut, and then answers a page": [
    () =>
      async ({ method }) =>
        method === "POST" ? cutAfter(events.slice(0, 20)) : new Response("<p>"),
    "Disconnected ended_early",
  ],
  "a server that is cut, and then never answers": [
    () =>
      async ({ method }) =>
        method === "POST" ? cutAfter(events.slice(0, 20)) : new Promise<never>(() => {}),
    "Disconnected ended_early",
  ],
  "a server that cannot be reached": [() => () => Promise.reject(new TypeError("no")), "Disconnected unreachable"],
};

async function outcomeOf(fetch: Fetch, resume: boolean): Promise<string | undefined> {
  let outcome: string | undefined;
  connect(foldGateway, { fetch, resume, random: () => 0.5, retryWaits: [] })
    .send({ content: "x" })
    .text()
    .then(
      (text) => {
        outcome = text;
      },
      ({ name, code }) => {
        outcome = `${name} ${code}`;
      },
    );
  for (let seconds = 0; outcome === undefined && seconds < 1000; seconds++) {
    await vi.advanceTimersByTimeAsync(SECOND);
    for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  return outcome;
}

describe.each(Object.entries(cases))("With %s, a stream", (_, [make, outcome]) => {
  it.each([false, true])("ends as its server's document has it (resume: %s)", async (resume) => {
    expect(await outcomeOf(make(), resume)).toBe(outcome);
  });
});

it("a run behind a proxy that gathers bytes is begun once", async () => {
  const { app, runs } = silentFor(200 * SECOND);
  expect(await outcomeOf(gathering(app.fetch), true)).toBe("said");
  expect(runs()).toBe(1);
});
