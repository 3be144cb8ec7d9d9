import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { clientCommand, serverCommand } from "../../src/node/commands.js";
import type { ClientLine } from "../../src/peer.js";

// Programs under test that do not do their part, as commands of a POSIX shell.

const posix = process.platform !== "win32";
const line: ClientLine = {
  case: "client/send/cut/1",
  url: "http://127.0.0.1:1",
  operation: "send",
  input: {},
  steps: [],
};
const GOOD = `while read line; do echo '{"messages":[1],"error":null}'; done`;

async function started(command: string, wait = 10_000) {
  const cwd = await mkdtemp(join(tmpdir(), "parlance-program-"));
  const client = clientCommand(command, { cwd, wait, startWithin: wait });
  onTestFinished(async () => {
    await client.close();
    await rm(cwd, { recursive: true });
  });
  return { client, cwd };
}

test.runIf(posix).each([
  [
    "ends",
    "read line; echo first >&2; echo last >&2; exit 3",
    /^it ended with 3, after these lines on stderr:\nfirst\nlast$/,
  ],
  ["ends with 0", "exit 0", /^it ended with 0$/],
  ["ends by a signal", "kill -9 $$", /^it ended with SIGKILL$/],
  ["does not exist", "parlance-no-such-program", /^it ended with 127, after these lines on stderr:\n.*not found/],
  ["closes its output", "exec >&-; while read line; do :; done", /^it ended with 0$/],
  ["answers with half of a line of JSON", `read line; echo '{"messages":'; sleep 600`, /^a line that is not JSON: /],
  ["answers with other JSON", `read line; echo '{"answers":[]}'; sleep 600`, /^\{"answers":\[\]\}$/],
  [
    "reports an error without a kind",
    `read line; echo '{"messages":[],"error":"lost"}'; sleep 600`,
    /^\{"messages":\[\],"error":"lost"\}$/,
  ],
  ...[{ code: 5 }, { text: [] }, { code: false, text: "a" }].map((own): [string, string, RegExp] => {
    const told = JSON.stringify({ messages: [], error: { kind: "refusal", ...own } });
    const came = told.replace(/[[\]{}]/g, "\\$&");
    return [
      `reports an error with ${JSON.stringify(own)}`,
      `read line; echo '${told}'; sleep 600`,
      new RegExp(`^${came}$`),
    ];
  }),
  ["prints a line without an end", "read line; yes xxxxxxxxxxxxxxxx | tr -d '\\n'", /^a line of more than 1 MiB$/],
  [
    "prints a long line, and goes on",
    "read line; printf '%01100000d\\n{\"messages\":[]}\\n' 1; sleep 600",
    /^a line of more than 1 MiB$/,
  ],
  [
    "prints lines without an end",
    "yes '{}'",
    /^(a line that nothing asked for: \{\}|more than 1000 lines that nothing asked for|\{\})$/,
  ],
])("a program that %s fails this call, which says so, and is started again for the next", async (_, command, came) => {
  const { client } = await started(`if [ -e ran ]; then ${GOOD}; exit; fi; touch ran; ${command}`);
  await expect(client.call(line)).rejects.toMatchObject({ came: expect.stringMatching(came) });
  expect(await client.call(line)).toEqual({ messages: [1], error: null });
});

test.runIf(posix).each([
  ["no error", {}, null],
  ["an error with its kind alone", { error: { kind: "disconnected" } }, { kind: "disconnected" }],
  [
    "an error with nulls for what is absent",
    { error: { kind: "refusal", code: null, text: null } },
    { kind: "refusal" },
  ],
  [
    "an error with texts",
    { error: { kind: "violation", code: "a", text: "b" } },
    { kind: "violation", code: "a", text: "b" },
  ],
])("a client may report %s", async (_, own, error) => {
  const { client } = await started(`read line; echo '${JSON.stringify({ messages: [], ...own })}'; cat > /dev/null`);
  expect(await client.call(line)).toEqual({ messages: [], error });
});

test.runIf(posix).each([
  ["no list", { calls: {} }],
  ["no object", { calls: [1] }],
  ["a call without a name", { calls: [{ input: {} }] }],
  ["a call without an input", { calls: [{ call: "a" }] }],
  ["messages that are no list", { calls: [{ call: "a", input: {}, messages: {} }] }],
  ["answers that are no list", { calls: [{ call: "a", input: {}, answers: 1 }] }],
  [
    "a good call before a bad one",
    {
      calls: [
        { call: "a", input: {} },
        { call: 1, input: {} },
      ],
    },
  ],
])("a fixture that reports %s fails the case", async (_, report) => {
  const url = `echo '{"url":"http://127.0.0.1:1"}'`;
  const answers = [{ ready: "a" }, report].map((one) => `read line; echo '${JSON.stringify(one)}'`);
  const server = await serverCommand([url, ...answers, "cat > /dev/null"].join("; "), { cwd: ".", wait: 10_000 });
  onTestFinished(() => server.close());
  await server.fixture!.begin({ case: "a", acts: [] });
  await expect(server.fixture!.report("a")).rejects.toMatchObject({ came: JSON.stringify(report) });
  await expect(server.fixture!.report("a")).rejects.toMatchObject({ came: "it has been stopped" });
});

test.runIf(posix)("a fixture reports its calls, with what they were given", async () => {
  const calls = [
    { call: "a", input: {} },
    { call: "b", input: {}, messages: [1], answers: [] },
  ];
  const command = `echo '{"url":"http://127.0.0.1:1"}'; read line; echo '${JSON.stringify({ calls })}'; cat > /dev/null`;
  const server = await serverCommand(command, { cwd: ".", wait: 10_000 });
  onTestFinished(() => server.close());
  expect(await server.fixture!.report("a")).toEqual(calls);
});

test.runIf(posix)(
  "a second line for one call fails the next call, and no line is taken for the answer to another",
  async () => {
    const { client } = await started(`read line; printf '{"messages":[1]}\\n{"messages":[2]}\\n'; ${GOOD}`);
    expect(await client.call(line)).toEqual({ messages: [1], error: null });
    await expect(client.call(line)).rejects.toMatchObject({ came: 'a line that nothing asked for: {"messages":[2]}' });
  },
);

test("a program that cannot be started fails its call, which says why", async () => {
  const client = clientCommand("true", { cwd: "/parlance/no/such/folder", wait: 10_000 });
  onTestFinished(() => client.close());
  await expect(client.call(line)).rejects.toMatchObject({
    came: expect.stringContaining("there is no folder /parlance/no/such/folder to run it in"),
  });
});

test.runIf(posix)("lines of the program's own, a byte order mark and CR LF are passed over", async () => {
  const { client } = await started(
    `read line; echo hello; printf '\\357\\273\\277 {"messages":[1]}\\r\\n'; echo; cat > /dev/null`,
  );
  expect(await client.call(line)).toEqual({ messages: [1], error: null });
});

test.runIf(posix)(
  "a program that neither answers nor ends is bounded by the wait, and nothing of it is left",
  async () => {
    const deaf = `sh -c 'trap "" TERM HUP; echo $$ > pid; while :; do sleep 1; done'; echo never`;
    const { client, cwd } = await started(deaf, 1000);
    await expect(client.call(line)).rejects.toMatchObject({ came: "nothing within 1000 ms" });
    const pid = Number(await readFile(join(cwd, "pid"), "utf8"));
    expect(pid).toBeGreaterThan(0);
    // One that is dead and not reaped has the state Z.
    await expect
      .poll(() => spawnSync("ps", ["-o", "stat=", "-p", String(pid)]).stdout.toString())
      .toMatch(/^(Z.*\n)?$/);
  },
);

test.runIf(posix)("a fixture that ends in one case is started again for the next, at its new URL", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "parlance-program-"));
  const command = `n=$(cat n 2>/dev/null || echo 1); echo $((n + 1)) > n; echo "{\\"url\\":\\"http://127.0.0.1:$n\\"}"
read line; if [ $n = 1 ]; then exit 4; fi; echo '{"ready":"b"}'; read line; echo '{"calls":[]}'; cat > /dev/null`;
  const server = await serverCommand(command, { cwd, wait: 10_000 });
  onTestFinished(async () => {
    await server.close();
    await rm(cwd, { recursive: true });
  });
  expect(server.url).toBe("http://127.0.0.1:1");
  await expect(server.fixture!.begin({ case: "a", acts: [] })).rejects.toMatchObject({ came: "it ended with 4" });
  await server.fixture!.begin({ case: "b", acts: [] });
  expect(server.url).toBe("http://127.0.0.1:2");
  expect(await server.fixture!.report("b")).toEqual([]);
});

describe.runIf(posix)("a fixture that is over behind a case", () => {
  /** The nth program runs the nth command; the last one stays. */
  async function fixture(...commands: string[]) {
    const cwd = await mkdtemp(join(tmpdir(), "parlance-program-"));
    const cases = commands.map((command, at) => `${at === commands.length - 1 ? "*" : at + 1}) ${command};;`);
    const command = `n=$(cat n 2>/dev/null || echo 1); echo $((n + 1)) > n; echo "{\\"url\\":\\"http://127.0.0.1:$n\\"}"
case $n in ${cases.join("\n")}
esac`;
    const server = await serverCommand(command, { cwd, wait: 10_000 });
    onTestFinished(async () => {
      await server.close();
      await rm(cwd, { recursive: true });
    });
    return server;
  }
  const ready = (id: string) => `read line; echo '{"ready":"${id}"}'`;
  const silent = () => {
    const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    onTestFinished(() => write.mockRestore());
    return write;
  };

  test("is started again for the next, which goes on, and is reported", async () => {
    const write = silent();
    const { fixture: own } = await fixture(`${ready("a")}; exit 4`, `${ready("b")}; cat > /dev/null`);
    await own!.begin({ case: "a", acts: [] });
    await own!.begin({ case: "b", acts: [] });
    expect(write.mock.calls.join("")).toContain(
      "was over when b began (it ended with 4): it is started again behind a",
    );
  });

  test("says how it ended in the case that failed", async () => {
    const { fixture: own } = await fixture(`${ready("a")}; echo oh >&2; exit 4`, `${ready("b")}; cat > /dev/null`);
    silent();
    await own!.begin({ case: "a", acts: [] });
    expect(await own!.ended!()).toBe("it ended with 4, after these lines on stderr:\noh");
    await own!.begin({ case: "b", acts: [] });
    expect(await own!.ended!()).toBe(undefined);
  });

  test("fails the case that ends it again", async () => {
    silent();
    const { fixture: own } = await fixture(`${ready("a")}; read line; exit 5`, "read line; exit 5");
    await own!.begin({ case: "a", acts: [] });
    await expect(own!.begin({ case: "b", acts: [] })).rejects.toMatchObject({ came: "it ended with 5" });
  });
});

test("a program that prints another line than its URL is reported at once, and in what came", async () => {
  let told = "";
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    told += text;
    return true;
  });
  onTestFinished(() => write.mockRestore());
  const began = serverCommand("echo listening on 8080; echo again; exec sleep 30", {
    cwd: ".",
    wait: 10,
    startWithin: 1000,
  });
  await expect(began).rejects.toMatchObject({ came: expect.stringContaining('but "listening on 8080"') });
  expect(told).toBe('the program printed "listening on 8080", which is no line { "url": … }: waiting for one\n');
});

test.runIf(posix)("what a program writes to stderr is passed on, but nothing of it controls the terminal", async () => {
  let told = "";
  const write = vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    told += text;
    return true;
  });
  onTestFinished(() => write.mockRestore());
  const { client } = await started(`printf 'one\\n\\033[31mtwo\\n' >&2; ${GOOD}`);
  await client.call(line);
  await expect.poll(() => told).toBe("one\n\\u001b[31mtwo\n");
});

test.runIf(posix)("a line for a program has no character but its end at which a reader of lines may stop", async () => {
  const { client, cwd } = await started(`tee line | ${GOOD}`);
  const text = "a\u0085b\u2028c\u2029d";
  await client.call({ ...line, input: { text } });
  // The file may be written after the answer.
  const written = await vi.waitUntil(() => readFile(join(cwd, "line"), "utf8"));
  expect(written).toMatch(/^[^\u0085\u2028\u2029\r]+\n$/);
  expect(JSON.parse(written)).toMatchObject({ input: { text } });
});
