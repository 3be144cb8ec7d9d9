/**
 * `pnpm bench` runs every bench on the built packages, one after the other, and prints a table for each topic. `--quick` takes rougher figures,
 * `--json FILE` writes them, and `--docs` puts them into docs/bench.md. Names such as `server/resume` run only those, and keep the other
 * rows of FILE. A row that is more than 15 % worse than in bench/figures.json is marked.
 */
import { fork } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { parseArgs } from "node:util";
import type { Row } from "../packages/server/bench/row.js";

/** A file and its arguments. */
const programs = [
  "packages/client/bench/reads.ts",
  "packages/client/bench/sockets.ts 1",
  "packages/client/bench/sockets.ts 16",
  "packages/client/bench/receive.ts fold-gateway",
  "packages/client/bench/receive.ts emacs-agent",
  "packages/client/bench/receive.ts agentsmithy",
  "packages/client/bench/receive.ts based",
  "packages/client/bench/receive.ts loco",
  "interop/bench/acp.ts",
  "interop/bench/operations.ts",
  "packages/client/bench/json.ts",
  "packages/client/bench/bundles.ts",
  "packages/server/bench/send.ts",
  "packages/server/bench/fan-out.ts",
  "packages/server/bench/memory.ts",
  "packages/server/bench/resume.ts",
  "packages/server/bench/log.ts",
  "packages/server/bench/asks.ts",
  "interop/bench/start-up.ts",
  "packages/server/bench/cancel.ts",
  "packages/server/bench/first-event.ts",
  "packages/recordings/bench/record.ts",
  "packages/edits/bench/speed.ts",
];

const LOADER = new URL("loader.js", import.meta.url).href;
const COMMITTED = "bench/figures.json";
const MARKED = 0.15;
/** In docs/bench.md, before the figures. */
const FIGURES = "## Figures\n";

/** Figures of one run, as they are written to a file. */
interface Figures {
  readonly machine: string;
  readonly node: string;
  readonly date: string;
  readonly rows: readonly Row[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean" }, json: { type: "string" }, docs: { type: "boolean" } },
});
const rows: Row[] = [];
for (const program of programs) {
  const name = program
    .replace(/^packages\//, "")
    .replace("/bench/", "/")
    .replace(/\.ts.*/, "");
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  if (program.startsWith("interop/") && !existsSync("interop/node_modules"))
    console.log(`${name} is left out: \`pnpm interop\` installs what it is measured beside`);
  else await run(program);
}
print(rows, existsSync(COMMITTED) ? readFigures(COMMITTED) : undefined);
/** The rows of programs that were not run, where only some were. */
const kept: readonly Row[] =
  positionals.length > 0 && values.json !== undefined && existsSync(values.json) ? readFigures(values.json).rows : [];
const figures: Figures = {
  machine: `${cpus().length} × ${cpus()[0]?.model ?? process.arch}`,
  node: process.version,
  date: new Date().toISOString().slice(0, 10),
  rows: [...rows.filter((one) => !kept.some(isRow(one))), ...kept.map((old) => rows.find(isRow(old)) ?? old)],
};
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
if (values.docs) {
  const [about] = readFileSync("docs/bench.md", "utf8").split(FIGURES);
  writeFileSync("docs/bench.md", `${about}${FIGURES}\n${markdown(figures)}`);
}

function readFigures(file: string): Figures {
  return JSON.parse(readFileSync(file, "utf8"));
}

function isRow({ topic, name }: Row): (other: Row) => boolean {
  return (other) => topic === other.topic && name === other.name;
}

async function run(program: string): Promise<void> {
  const [file, ...words] = program.split(" ");
  const child = fork(file!, values.quick ? [...words, "--quick"] : words, {
    execArgv: ["--import", LOADER],
  });
  child.on("message", (message: { readonly row?: Row }) => message.row && rows.push(message.row));
  const status = await new Promise((resolve) => child.on("exit", resolve));
  if (status !== 0) process.exit(1);
}

function print(found: readonly Row[], committed: Figures | undefined): void {
  for (const [topic, of] of grouped(found)) {
    console.log(`\n${topic}`);
    for (const row of of) {
      const before = committed?.rows.find(isRow(row));
      console.log(`  ${lineOf(row, before)}`);
    }
  }
}

function grouped(found: readonly Row[]): Map<string, Row[]> {
  const topics = new Map<string, Row[]>();
  for (const row of found) topics.set(row.topic, [...(topics.get(row.topic) ?? []), row]);
  return topics;
}

function lineOf(row: Row, before: Row | undefined): string {
  const unit = row.unit === undefined ? "" : ` ${row.unit}`;
  const shown = (value: number) => `${value.toFixed(2)}${unit}`.padStart(12);
  const worse = before && (row.less ? row.value / before.value : before.value / row.value) - 1;
  const mark = worse !== undefined && worse > MARKED ? `  << ${Math.round(worse * 100)} % worse` : "";
  const aim = row.aim === undefined ? "" : `  aim ${row.aim}${unit}`;
  return `${row.name.padEnd(48)}${shown(row.value)}${before ? `  was ${shown(before.value)}` : ""}${aim}${mark}`;
}

function markdown({ machine, node, date, rows }: Figures): string {
  const tables = [...grouped(rows)].map(([topic, of]) => {
    const lines = of.map(
      ({ name, value, unit = "", aim = "" }) => `| ${name} | ${value.toFixed(2)} ${unit} | ${aim} |`,
    );
    return `| ${topic} | | aim |\n|---|---|---|\n${lines.join("\n")}\n`;
  });
  return `Measured on ${date}: ${machine}, Node ${node}.\n\n${tables.join("\n")}`;
}
