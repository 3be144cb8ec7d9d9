/**
 * What an open connection holds: 5,000 readers of one session, each of which has got a message, beside bare `node:http` and `ws`.
 * `tsx packages/server/bench/memory.ts`. Held is the heap in use and the buffers outside of it, after a collection; RSS also counts
 * pages that the process has and does not use. Needs about 5,100 open files (`ulimit -n`).
 */
import { quick } from "./measure.js";
import type { RawReader } from "./raw.js";
import { row } from "./row.js";
import { type Carrier, open, type Side, stampOf, start } from "./subject.js";

const CONNECTIONS = quick ? 1000 : 5000;
/** Opened and closed before, so that what is made once and for all is not counted. */
const WARM = 200;
/** Opened at a time. */
const BURST = 50;
/** RSS of one of 5,000, in kB. Of fewer it is more: what the process has grown by once and for all is shared by less. */
const AIMS: Partial<Record<Carrier, number>> = quick ? {} : { sse: 24, websocket: 18 };

const key = (): string => crypto.randomUUID().replaceAll("-", "");

/** What a reader says that may be cut and come back: on a stream its key, on a socket the ticket that it has got for it. */
async function resumable(carrier: Carrier, port: number): Promise<Record<string, string>> {
  const headers = { "Parlance-Resume": key() };
  if (carrier === "sse") return headers;
  const answer = await fetch(`http://127.0.0.1:${port}/v1/sessions/s/stream`, { headers });
  const { ticket } = (await answer.json()) as { ticket: string };
  return { "Sec-WebSocket-Protocol": `parlance.${ticket}` };
}

async function openAll(carrier: Carrier, port: number, count: number, resumes: boolean): Promise<RawReader[]> {
  const readers: RawReader[] = [];
  const one = async () => open(carrier, port, resumes ? await resumable(carrier, port) : {});
  while (readers.length < count) readers.push(...(await Promise.all(Array.from({ length: BURST }, one))));
  return readers;
}

/** Resolves when the reader has the first message. */
function receipt(reader: RawReader): Promise<void> {
  return new Promise((resolve) => {
    reader.onBytes = () => {
      if (stampOf(reader.tail)?.number === 1) resolve();
    };
  });
}

async function weigh(side: Side, carrier: Carrier, resumes = false): Promise<string> {
  const subject = await start(side, carrier);
  try {
    for (const { socket } of await openAll(carrier, subject.port, WARM, resumes)) socket.destroy();
    const before = await subject.memory();
    const readers = await openAll(carrier, subject.port, CONNECTIONS, resumes);
    const got = Promise.all(readers.map(receipt));
    subject.order({ say: 1, together: 1, window: 1 });
    await Promise.race([got, ...readers.map(({ lost }) => lost)]);
    const after = await subject.memory();
    for (const { socket } of readers) socket.destroy();
    const held = (after.held - before.held) / CONNECTIONS / 1000;
    const rss = (after.rss - before.rss) / CONNECTIONS / 1000;
    const name = `${carrier}, ${side}${resumes ? " with a key" : ""}`;
    row({ topic: "memory of a connection", name: `${name}, held`, value: held, unit: "kB", less: true });
    const aim = side === "parlance" && !resumes ? AIMS[carrier] : undefined;
    row({
      topic: "memory of a connection",
      name: `${name}, RSS`,
      value: rss,
      unit: "kB",
      less: true,
      ...(aim && { aim }),
    });
    const each = (of: "rss" | "held") => `${((after[of] - before[of]) / CONNECTIONS / 1000).toFixed(1)} kB`;
    return `held ${each("held")}, RSS ${each("rss")}`;
  } finally {
    subject.stop();
  }
}

console.log(`memory of a connection, ${CONNECTIONS.toLocaleString("en")} of them`);
for (const carrier of ["sse", "websocket"] as const) {
  const name = { sse: "Server-Sent Events", websocket: "WebSocket" }[carrier];
  console.log(
    `  ${name}: parlance ${await weigh("parlance", carrier)} (aim ${AIMS[carrier] ?? "none"})   bare ${await weigh("bare", carrier)}`,
  );
  console.log(`      and with a key, to be joined again: ${await weigh("parlance", carrier, true)}`);
}
