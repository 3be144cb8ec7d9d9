import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { attack, call, crowd } from "../load/attack.js";
import { CONTRACTS, type Row, tableOf } from "../load/contracts.js";
import type { Rest } from "../load/server.js";

// One principal calls everything that a contract has, in every way, at a server with a heap of 512 MB.

const long = process.env.PARLANCE_LONG !== undefined;
const names = long ? [...CONTRACTS.keys()] : ["emacs-agent"];
/** Calls of a row: more than are let in at a time. Large ones are read to their end, and each is some megabytes. */
const callsOf = ({ way }: Row) => (!long ? 30 : way === "large" ? 100 : 300);
const CONNECTIONS = long ? 10_000 : 300;
/** Bytes of heap that all calls of a test together may leave. */
const LEFT = 4_000_000;
/** Statuses of calls that are answered. */
const ANSWERED = ["101", "200", "201"];
/** Calls of another principal while the attacker holds its connections. */
const PROBES = 3;

interface Served {
  readonly child: ChildProcess;
  readonly port: number;
  /** Revokes the attacker, and resolves to what the server then holds. */
  rest(): Promise<Rest>;
}

async function serverOf(name: string, access: "open" | "closed"): Promise<Served> {
  const words = [name, long ? "long" : "short", access];
  const child = fork(fileURLToPath(new URL("../load/server.ts", import.meta.url)), words, {
    cwd: fileURLToPath(new URL("../../../..", import.meta.url)),
    execArgv: ["--import", "tsx", "--max-old-space-size=512"],
    env: { ...process.env, NODE_OPTIONS: "", TSX_TSCONFIG_PATH: "tsconfig.json" },
  });
  const died = once(child, "exit").then(([code, signal]) => {
    throw new Error(`the server died: ${signal ?? code}`);
  });
  died.catch(() => {});
  const answer = async <Answer>(): Promise<Answer> => {
    const message = new Promise<unknown>((resolve) => child.once("message", resolve));
    return (await Promise.race([message, died])) as Answer;
  };
  const port = await answer<number>();
  const rest = () => {
    child.send("rest");
    return answer<Rest>();
  };
  return { child, port, rest };
}

describe.each(names)("one principal at %s", async (name) => {
  const contract = CONTRACTS.get(name)!;
  const all = await tableOf(contract);
  // Of each kind the first, where time is short.
  const firsts = all.filter(({ kind, name }) => name === all.find((row) => row.kind === kind)!.name);
  const rows = long ? all : firsts;
  const own = rows.find(({ kind }) => kind === "operation") ?? rows[0]!;
  let served: Served;
  let before: number;
  beforeAll(async () => {
    served = await serverOf(name, "closed");
    expect(ANSWERED).toContain(await call(served.port, contract, own));
    before = (await served.rest()).heap;
  }, 60_000);
  afterAll(() => served.child.kill("SIGKILL"));

  it.each(rows)(
    "cannot take the server down: $kind $name, $way",
    async (row) => {
      const { port, child, rest } = served;
      const { statuses, sent, end } = attack(port, contract, row, callsOf(row));
      const probes: string[] = [];
      const probe = async () => void probes.push(await call(port, contract, own));
      try {
        let isSent = false;
        sent.then(() => {
          isSent = true;
        });
        while (!isSent && child.exitCode === null) await probe();
        // And while everything is held.
        for (let i = 0; i < PROBES; i++) await probe();
      } finally {
        end();
      }
      const { held, heap } = await rest();
      console.log(
        `${row.kind} ${row.name}, ${row.way}: ${JSON.stringify(statuses)}, ${Math.round(heap / 1e6)} MB left`,
      );
      expect(child.exitCode).toBeNull();
      expect(new Set(probes).size).toBe(1);
      expect(ANSWERED).toContain(probes[0]);
      expect(held).toEqual({});
      expect(heap - before).toBeLessThan(LEFT);
    },
    600_000,
  );
});

describe.each([
  ["emacs-agent", "stream", "200"],
  ["based", "channel", "101"],
] as const)("connections to %s", (name, kind, status) => {
  it(`leave nothing behind: ${CONNECTIONS} with a ${kind} each`, async () => {
    const contract = CONTRACTS.get(name)!;
    const row = (await tableOf(contract)).find((one) => one.kind === kind)!;
    const { child, port, rest } = await serverOf(name, "open");
    onTestFinished(() => void child.kill("SIGKILL"));
    const sizes: number[] = [];
    // First those that make what is made once.
    for (const count of [CONNECTIONS / 10, CONNECTIONS]) {
      const { statuses, end } = await crowd(port, contract, row, count);
      expect(statuses).toEqual({ [status]: count });
      end();
      const { held, heap } = await rest();
      expect(held).toEqual({});
      sizes.push(heap);
    }
    expect(sizes[1]! - sizes[0]!).toBeLessThan(LEFT);
  }, 900_000);
});
