/**
 * What a session says to 1, 100 and 1,000 readers at once, over Server-Sent Events and WebSocket, beside better-sse, and bare `node:http` and `ws` that
 * serialise once and write to each reader: messages a second, and how long a message takes. `tsx packages/server/bench/fan-out.ts`.
 * The server has a process of its own, and this one reads: each reader must get every message, and the last one last. What the machine
 * does beside is in the figures of both: read the ratios, and that of processor time where the machine is busy.
 */
import { interleave, median, quantile, quick, thousands } from "./measure.js";
import type { RawReader } from "./raw.js";
import { row } from "./row.js";
import { type Carrier, lengthOf, open, type Side, type Subject, stampOf, start } from "./subject.js";

const ROUNDS = quick ? 3 : 7;
/** Messages of one round, to all readers together. */
const DELIVERIES = quick ? 16_000 : 64_000;
/** Messages of one round by which latency is measured, one tick at a time. */
const TIMED = quick ? 4_000 : 8_000;
const SIDES: Record<Carrier, readonly Side[]> = {
  sse: ["parlance", "better-sse", "bare"],
  websocket: ["parlance", "bare"],
};

/** Of 1,000 readers, by messages a tick. */
const AIMS: Record<Carrier, Readonly<Record<number, number>>> = {
  sse: { 1: 1, 16: 1.5 },
  websocket: { 1: 0.9, 16: 2.5 },
};

interface Figure {
  /** Messages a second. */
  readonly rate: number;
  /** Messages a second of the server's processor time. */
  readonly byCpu: number;
  /** Milliseconds from saying to reading, one a message. */
  readonly latencies: readonly number[];
}

interface Reading {
  readonly side: Side;
  readonly carrier: Carrier;
  readonly subject: Subject;
  readonly readers: readonly RawReader[];
}

for (const carrier of ["sse", "websocket"] as const) {
  const names = { sse: "Server-Sent Events beside node:http", websocket: "WebSocket beside ws" };
  console.log(`one session to many readers: ${names[carrier]} (latency with one tick on its way)`);
  for (const count of [1, 100, 1000]) {
    const sides = new Map<Side, Reading>();
    for (const side of SIDES[carrier]) sides.set(side, await openAll(side, carrier, count));
    for (const together of [1, 16]) {
      const figures = await interleave(SIDES[carrier], ROUNDS, async (side) => {
        const events = together * Math.ceil(DELIVERIES / count / together);
        // So much is on its way to a reader that the server never waits, and never so much that it would be cut.
        const { rate, byCpu } = await round(
          sides.get(side)!,
          events,
          together,
          Math.min(2048, Math.max(64, 65_536 / count)),
        );
        const timed = together * Math.ceil(TIMED / count / together);
        return { rate, byCpu, latencies: (await round(sides.get(side)!, timed, together, together)).latencies };
      });
      print(carrier, count, together, figures);
    }
    for (const { readers, subject } of sides.values()) {
      for (const { socket } of readers) socket.destroy();
      subject.stop();
    }
  }
}

async function openAll(side: Side, carrier: Carrier, count: number): Promise<Reading> {
  const subject = await start(side, carrier);
  const readers: RawReader[] = [];
  while (readers.length < count) readers.push(await open(carrier, subject.port));
  return { side, carrier, subject, readers };
}

async function round(
  { side, carrier, subject, readers }: Reading,
  events: number,
  together: number,
  window: number,
): Promise<Figure> {
  const length = lengthOf(carrier, side);
  const total = events * length * readers.length;
  const acknowledged = Math.max(together, Math.floor(window / 4)) * length * readers.length;
  const latencies: number[] = [];
  let bytes = 0;
  let next = acknowledged;
  for (const reader of readers) reader.bytes = 0;
  const begin = process.hrtime.bigint();
  const read = new Promise<void>((resolve) => {
    for (const reader of readers)
      reader.onBytes = (more) => {
        const now = process.hrtime.bigint();
        bytes += more;
        if (window === together) {
          const whole = Math.floor(reader.bytes / length) - Math.floor((reader.bytes - more) / length);
          if (whole > 0) latencies.push(...Array(whole).fill(Number(now - stampOf(reader.tail)!.at) / 1e6));
        }
        if (bytes >= next) {
          subject.order({ heard: Math.floor(bytes / length / readers.length) });
          next += acknowledged;
        }
        if (bytes >= total) resolve();
      };
    subject.order({ say: events, together, window });
  });
  await Promise.race([read, ...readers.map(({ lost }) => lost)]);
  const seconds = Number(process.hrtime.bigint() - begin) / 1e9;
  for (const { bytes, tail } of readers)
    if (bytes !== events * length || stampOf(tail)?.number !== events)
      throw new Error(`a reader has ${bytes / length} messages of ${events}, and at the end ${tail}`);
  const messages = events * readers.length;
  return { rate: messages / seconds, byCpu: (messages / (await subject.cpu())) * 1e6, latencies };
}

function print(carrier: Carrier, count: number, together: number, figures: Record<Side, readonly Figure[]>): void {
  const rates = (side: Side, of: "rate" | "byCpu") => median(figures[side].map((figure) => figure[of]));
  const ratio = (side: Side, of: "rate" | "byCpu") => rates(side, of) / rates("bare", of);
  const who = `${count.toLocaleString("en").padStart(5)} reader${count > 1 ? "s" : " "}, ${String(together).padStart(2)} a tick`;
  for (const side of SIDES[carrier]) {
    const latencies = figures[side].flatMap(({ latencies }) => latencies);
    const times = [0.5, 0.99].map((q) => quantile(latencies, q).toFixed(2)).join("/");
    const beside = ratio(side, "byCpu").toFixed(2);
    const shown = side === "bare" ? "" : `   ratio ${ratio(side, "rate").toFixed(2)} (by processor time ${beside})`;
    console.log(`  ${who}: ${side} ${thousands(rates(side, "rate"))}   p50/p99 ${times} ms${shown}`);
    const name = `${carrier}, ${count} readers, ${together} a tick${side === "parlance" ? "" : `, ${side}`}`;
    if (side === "bare") continue;
    const aim = side === "parlance" && count === 1000 ? AIMS[carrier][together] : undefined;
    const topic = "fan-out beside node:http and ws, by processor time";
    row({ topic, name, value: Number(beside), ...(aim && { aim }) });
    const late =
      quantile(latencies, 0.5) /
      quantile(
        figures.bare.flatMap((figure) => figure.latencies),
        0.5,
      );
    const aims = side === "parlance" && count === 1000 && carrier === "websocket" && together === 16 && { aim: 2 };
    row({ topic: "p50 of fan-out beside node:http and ws", name, value: late, less: true, ...aims });
  }
}
