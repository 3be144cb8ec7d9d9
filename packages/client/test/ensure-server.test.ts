import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, rm, utimes, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Disconnected } from "@parlance/client";
import { ensureServer } from "@parlance/client/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";

/** A program that serves a port after some milliseconds, as `node -e`. */
const serving = (port: number, { after = 0, health = "/health" } = {}) => {
  const program = `
    const { createServer } = require("node:http");
    setTimeout(() => {
      const server = createServer(({ url }, response) => {
        console.error(url);
        response.writeHead(url === ${JSON.stringify(health)} ? 200 : 404).end(String(process.pid));
      });
      server.on("error", (error) => { console.error(error.message); process.exit(3); });
      server.listen(${port}, "127.0.0.1");
    }, ${after});`;
  return [process.execPath, "-e", program] as const;
};

/** A port that no test beside this one is given: the system gives those above 32,767. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(22_000 * Math.random());
    const server = createServer().listen(port, "127.0.0.1");
    const isFree = await once(server, "listening").then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

const write = (port: number, owner: object) => writeFile(lockOf(port), JSON.stringify(owner));

const stopped = <S extends { stop(): Promise<void> }>(server: S): S => {
  onTestFinished(() => server.stop());
  return server;
};

/** A program that calls `ensureServer` as an editor does, prints the server's pid, and ends by itself. */
async function editor(command: readonly string[], port: number): Promise<string> {
  const module = new URL("../src/ensure-server.ts", import.meta.url).href;
  const program = `
    const { ensureServer } = await import(${JSON.stringify(module)});
    const options = { command: ${JSON.stringify(command)}, port: ${port}, health: "/health", within: 60000 };
    const { url } = await ensureServer(options);
    console.log(await (await fetch(url + "/pid")).text());`;
  const args = ["--import", "tsx", "--input-type=module", "-e", program];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const printed = text(child.stdout);
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
  return (await printed).trim();
}

/** A lock file as a starter leaves it. */
const lockOf = (port: number) => join(tmpdir(), `parlance-${process.getuid?.() ?? "user"}`, `${port}.lock`);
const noProcess = 2 ** 22 + 1;
const soon = () => Date.now() + 60_000;

describe("ensureServer", () => {
  test("of several editors starts one server, which outlives them and logs on", { timeout: 60_000 }, async () => {
    const port = await freePort();
    const command = serving(port, { after: 100 });
    const pids = await Promise.all([1, 2, 3].map(() => editor(command, port)));
    onTestFinished(() => void process.kill(Number(pids[0])));
    expect(new Set(pids).size).toBe(1);
    for (let request = 0; request < 3; request++)
      expect(await (await fetch(`http://127.0.0.1:${port}/pid`)).text()).toBe(pids[0]);
  });

  test.each<[what: string, lock: (port: number) => Promise<void>]>([
    ["of a starter that crashed", (port) => write(port, { pid: noProcess, until: soon() })],
    ["whose time is over", (port) => write(port, { pid: process.pid, until: Date.now() - 1 })],
    [
      "of a server that crashed with its starter",
      (port) => write(port, { pid: noProcess, server: noProcess, until: soon() }),
    ],
    [
      "that was never written",
      async (port) => {
        await writeFile(lockOf(port), "");
        await utimes(lockOf(port), 0, 0);
      },
    ],
  ])("starts the server under a stale lock %s", async (_, lock) => {
    const port = await freePort();
    // The folder exists after the first call.
    await ensureServer({ command: ["/no/such/program"], port }).catch(() => {});
    await lock(port);
    const both = [1, 2].map(() => ensureServer({ command: serving(port), port, health: "/health" }));
    const own = (await Promise.all(both)).map(stopped).filter(({ process }) => process);
    expect(own).toHaveLength(1);
    await expect(access(lockOf(port))).rejects.toThrow("ENOENT");
  });

  test.each<[what: string, owner: object]>([
    ["a starter", { pid: process.pid }],
    ["a server whose starter crashed", { pid: noProcess, server: process.pid }],
  ])("waits for %s that is at work, and starts nothing", async (_, owner) => {
    const port = await freePort();
    await ensureServer({ command: ["/no/such/program"], port }).catch(() => {});
    await write(port, { ...owner, until: soon() });
    onTestFinished(() => rm(lockOf(port)));
    const waiting = ensureServer({ command: ["/no/such/program"], port, within: 400 });
    await expect(waiting).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringContaining("was not ready within 400 ms"),
    });
  });

  test("says that another program has the port, also one that does not speak HTTP", async () => {
    const server = createTcpServer((socket) => socket.on("error", () => {}).end("garbage"));
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await expect(ensureServer({ command: serving(port), port })).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("EADDRINUSE"),
    });
  });

  test("starts the server where nobody listens, waits until it is ready, and ends what it started", async () => {
    const port = await freePort();
    const server = await ensureServer({ command: serving(port, { after: 100 }), port, health: "/health" });
    expect(server).toMatchObject({ url: `http://127.0.0.1:${port}` });
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    await server.stop();
    expect(server.process).toMatchObject({ signalCode: "SIGTERM" });
    await expect(fetch(server.url)).rejects.toThrow();
  });

  test("uses the one that runs, and leaves it running", async () => {
    const port = await freePort();
    const first = stopped(await ensureServer({ command: serving(port), port, health: "/health" }));
    const second = await ensureServer({ command: ["no such program"], port, health: "/health" });
    expect(second.process).toBeUndefined();
    await second.stop();
    expect((await fetch(`${first.url}/health`)).status).toBe(200);
  });

  test.each([
    ["listen in turn", [100, 600, 600, 600]],
    ["listen in the reverse turn", [600, 400, 200, 0]],
  ])("called by several at a time starts one server, though theirs would %s", async (_, delays) => {
    const port = await freePort();
    const start = (after: number) => ensureServer({ command: serving(port, { after }), port, health: "/health" });
    const all = (await Promise.all(delays.map(start))).map(stopped);
    const own = all.filter(({ process }) => process !== undefined);
    expect(own).toHaveLength(1);
    expect(await (await fetch(`${all[0]!.url}/pid`)).text()).toBe(String(own[0]!.process!.pid));
  });

  test("gives none of them a process where their server ends for another that has the port", async () => {
    const port = await freePort();
    const starting = ensureServer({ command: serving(port, { after: 1000 }), port, health: "/health" });
    const other = createServer((_, response) => response.end()).listen(port, "127.0.0.1");
    onTestFinished(() => void other.close());
    expect((await starting).process?.exitCode ?? null).toBeNull();
  });

  test("leaves the answer of the one that runs unread", async () => {
    let left = false;
    const server = createServer((_, response) => {
      response.on("close", () => {
        left = true;
      });
      response.write("x");
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await ensureServer({ command: ["no such program"], port: (server.address() as AddressInfo).port });
    // The time limit of the probe would end it after 2 s.
    await expect.poll(() => left, { timeout: 1500 }).toBe(true);
  });

  const failing: [what: string, options: (port: number) => Parameters<typeof ensureServer>[0], error: object][] = [
    [
      "a program that is not there",
      (port) => ({ command: ["/no/such/program"], port }),
      { code: "unreachable", retryable: false, message: expect.stringContaining("ENOENT") },
    ],
    [
      "a program that ends",
      (port) => ({ command: [process.execPath, "-e", "console.error('no model'); process.exit(4)"], port }),
      { code: "unreachable", retryable: false, message: expect.stringContaining("it ended with code 4: no model") },
    ],
    [
      "one that is never ready",
      (port) => ({ command: serving(port, { health: "/other" }), port, health: "/health", within: 300 }),
      { code: "timeout", retryable: true, message: expect.stringContaining("was not ready within 300 ms") },
    ],
  ];
  test.each([undefined, [], "node server.js", [""], ["node", 5], ["node", "a\0b"], [undefined], {}])(
    "takes no %s for a command, and leaves no file open",
    async (command) => {
      await expect(ensureServer({ command, port: 1 } as never)).rejects.toMatchObject({
        name: "TypeError",
        code: "usage",
        message: expect.stringContaining("command"),
      });
    },
  );

  test.each(failing)("says what is wrong with %s, and leaves no process", async (_, options, error) => {
    const port = await freePort();
    await expect(ensureServer(options(port))).rejects.toMatchObject({ name: "Disconnected", ...error });
    await expect(fetch(`http://127.0.0.1:${port}`)).rejects.toThrow();
  });

  /** A server that answers each path with its status. */
  const answering = async (statuses: Readonly<Record<string, number>>) => {
    const asked: string[] = [];
    const server = createServer(({ url = "" }, response) => {
      asked.push(url);
      response.writeHead(statuses[url] ?? 404).end();
    });
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return { asked, port: (server.address() as AddressInfo).port };
  };

  test.each<[status: number, health: string | undefined, ready: boolean]>([
    [200, undefined, true],
    [404, undefined, true],
    [499, undefined, true],
    [500, undefined, false],
    [200, "/health", true],
    [299, "/health", true],
    [304, "/health", false],
    [404, "/health", false],
    [503, "/health", false],
  ])("takes an answer of %d (health: %s) as ready or not: %s", async (status, health, ready) => {
    const path = health ?? "/";
    const { port, asked } = await answering({ [path]: status });
    const ensured = ensureServer({ command: ["no such program"], port, ...(health !== undefined && { health }) });
    if (ready) expect(await ensured).toMatchObject({ url: `http://127.0.0.1:${port}`, process: undefined });
    else
      await expect(ensured).rejects.toMatchObject({
        code: "unreachable",
        retryable: false,
        message: `the server at http://127.0.0.1:${port} answers ${path} with ${status}: something else has the port`,
      });
    expect(asked).toEqual([path]);
  });

  test("starts the program in its folder, with its environment and its arguments, and reports the last of its standard error", async () => {
    const port = await freePort();
    const program = [
      "console.error('x'.repeat(3000))",
      "console.error('Error:', process.cwd(), process.env.OWN, process.argv[1])",
      "console.error('  at a place')",
      "process.exit(7)",
    ].join(";");
    const command = [process.execPath, "-e", program, "argument"] as const;
    const error = (await ensureServer({ command, port, cwd: "/", env: { OWN: "own" } }).catch(
      (failure) => failure,
    )) as Disconnected;
    expect(error.message).toBe(
      `the server at http://127.0.0.1:${port} was not started by ${process.execPath}: it ended with code 7: Error: / own argument`,
    );
    const last = "Error: / own argument\n  at a place";
    expect(error.details!.body).toBe(`${"x".repeat(2000 - last.length - 2)}\n${last}`);
  });

  test("names the signal that ended the program, and nothing that it did not say", async () => {
    const port = await freePort();
    const command = [process.execPath, "-e", "process.kill(process.pid, 'SIGKILL')"] as const;
    await expect(ensureServer({ command, port })).rejects.toThrow(/: it was ended by SIGKILL$/);
  });

  test("is not asked for by a signal that is aborted already, and a server that has ended is stopped at once", async () => {
    const { port, asked } = await answering({});
    const enough = new Error("enough");
    const ensured = ensureServer({ command: ["no such program"], port, signal: AbortSignal.abort(enough) });
    await expect(ensured).rejects.toBe(enough);
    expect(asked).toEqual([]);

    const own = await freePort();
    const server = await ensureServer({ command: serving(own), port: own, health: "/health" });
    const kill = vi.spyOn(server.process!, "kill");
    await server.stop();
    await server.stop();
    expect(kill.mock.calls).toEqual([["SIGTERM"]]);
  });

  test("says when something else has the port", async () => {
    const port = await freePort();
    stopped(await ensureServer({ command: serving(port), port, health: "/health" }));
    const wrong = ensureServer({ command: ["never run"], port, health: "/api/health" });
    await expect(wrong).rejects.toThrow("answers /api/health with 404: something else has the port");
  });

  test("kills a program that ignores SIGTERM, five seconds later", async () => {
    const port = await freePort();
    const [node, flag, program] = serving(port);
    const deaf = [node, flag, `process.on("SIGTERM", () => {}); ${program}`] as const;
    const server = await ensureServer({ command: deaf, port, health: "/health" });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const over = server.stop();
    vi.advanceTimersByTime(4999);
    expect(server.process!.killed).toBe(true);
    const kill = vi.spyOn(server.process!, "kill");
    vi.advanceTimersByTime(1);
    expect(kill).toHaveBeenCalledWith("SIGKILL");
    await over;
    expect(server.process).toMatchObject({ signalCode: "SIGKILL" });
  });

  test("an aborted signal ends the waiting and the process", async () => {
    const port = await freePort();
    const enough = new Error("enough");
    const controller = new AbortController();
    const waiting = ensureServer({ command: serving(port, { after: 60_000 }), port, signal: controller.signal });
    setTimeout(() => controller.abort(enough), 100);
    await expect(waiting).rejects.toBe(enough);
  });

  test("an aborted signal ends a question that is never answered", async () => {
    const controller = new AbortController();
    const enough = new Error("enough");
    const server = createServer(() => controller.abort(enough));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { port } = server.address() as AddressInfo;
    const closed = new Promise<void>((resolve) =>
      server.on("connection", (socket) => socket.on("close", () => resolve())),
    );
    const waiting = ensureServer({ command: ["no such program"], port, signal: controller.signal });
    await expect(waiting).rejects.toBe(enough);
    await closed;
  });
});
