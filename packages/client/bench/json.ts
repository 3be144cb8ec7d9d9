/**
 * `parseJson` beside `JSON.parse` for each shape of body: how many times as long it takes, of processor time in one run.
 * `tsx packages/client/bench/json.ts [--quick]`.
 */
import { parseJson } from "@parlance/wire";
import { row } from "../../server/bench/row.js";

const quick = process.argv.includes("--quick");
const ROUNDS = quick ? 5 : 15;
/** Characters that are parsed in each round. */
const CHARACTERS = quick ? 1_000_000 : 4_000_000;
const origin = { protocol: "bench", side: "server" } as const;

const list = (length: number, of: (i: number) => unknown): unknown[] => Array.from({ length }, (_, i) => of(i));
const record = (length: number, of: (i: number) => unknown): object =>
  Object.fromEntries(list(length, of).map((value, i) => [`key${i}`, value]));

const shapes: Readonly<Record<string, string>> = {
  "a delta of 67 bytes": JSON.stringify({ type: "assistant.token", token: "the 1st piece of an answer" }),
  "a diff of 16 KiB": JSON.stringify({ type: "diff", diff: '@@ -1 +1 @@\n-"old"\n+new\n'.repeat(560) }),
  "100 keys": JSON.stringify(record(100, (i) => `value ${i}`)),
  "1,000 keys": JSON.stringify(record(1000, (i) => i)),
  "60 objects deep": `${'{"a":'.repeat(60)}1${"}".repeat(60)}`,
  "60 lists deep": `${"[".repeat(60)}1${"]".repeat(60)}`,
  "200 objects": JSON.stringify(list(200, (i) => ({ id: i, name: `n${i}`, tags: ["a", "b"], on: true, of: null }))),
  "1,000 strings": JSON.stringify(list(1000, (i) => `s${i}`)),
  "1,000 integers": JSON.stringify(list(1000, (i) => i)),
  "1,000 fractions": JSON.stringify(list(1000, (i) => i / 7)),
  "1,000 booleans": JSON.stringify(list(1000, (i) => i % 2 === 0)),
};

let kept: unknown;
function time(parse: (text: string) => unknown, text: string): number {
  const start = process.cpuUsage();
  for (let read = 0; read < CHARACTERS; read += text.length) kept = parse(text);
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

const median = (all: number[]) => all.toSorted((a, b) => a - b)[all.length >> 1]!;
console.log("parseJson beside JSON.parse");
for (const [shape, text] of Object.entries(shapes)) {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round <= ROUNDS; round++) {
    times[0].push(time((one) => parseJson(one, origin), text));
    times[1].push(time(JSON.parse, text));
  }
  const value = median(times[0]) / median(times[1]);
  row({ topic: "parseJson beside JSON.parse, times as long", name: shape, value, less: true, aim: 1.3 });
  console.log(`  ${shape.padEnd(40)} ${value.toFixed(2)} times as long`);
}
if (kept === undefined) throw new Error("nothing was parsed");
