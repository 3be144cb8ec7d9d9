import { expect, test } from "vitest";
import type { Options } from "../src/io.js";
import { COMMANDS, parlance } from "./terminal.js";

test("each command has a line of its own in the help, which says what it does", async () => {
  const { code, out } = await parlance("/", "--help");
  const rows = [...out.matchAll(/^ {2}([a-z]+) +(.*)$/gm)].map(([, name, summary]) => [name!, summary!] as const);
  expect(code).toBe(0);
  expect(rows.map(([name]) => name)).toEqual(COMMANDS);
  for (const [, summary] of rows) expect(summary).toMatch(/^[a-z]+( \S+){3,}$/);
  expect(new Set(rows.map(([, summary]) => summary)).size).toBe(rows.length);
});

test.each([
  ["init my-agent --example sockets", "sse, websocket, both or agent"],
  ["apply", "name a file with edits, or - for the standard input"],
])("a mistake in `%s` is answered with what there is: %s", async (words, said) => {
  const { code, err } = await parlance("/", words);
  expect(code).toBe(2);
  expect(err).toContain(said);
});

test.each(COMMANDS)("the help of %s has each option, and says in words what it does", async (command) => {
  const { out } = await parlance("/", `${command} --help`);
  const { options } = (await import(`../src/${command}.ts`)) as { options: Options };
  const rows = out
    .split("\n")
    .flatMap((line) => /^ {2}(?:-\w, )?--([a-z-]+)\S*(?: [A-Z]\S*| server\|client)? {2,}(\S.*)$/.exec(line) ?? []);
  const described = new Map(rows.flatMap((one, at) => (at % 3 === 1 ? [[one, rows[at + 1]!] as const] : [])));
  expect([...described.keys()].sort()).toEqual(Object.keys(options).sort());
  for (const [name, words] of described) expect(words.split(" ").length, name).toBeGreaterThan(2);
});

test("help is the same by each of its words, of the command and of each subcommand", async () => {
  const whole = await parlance("/", "--help");
  expect(whole).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^parlance <command>: /) });
  for (const word of ["-h", "help"]) expect(await parlance("/", word)).toEqual(whole);
  expect(await parlance("/", "")).toEqual({ code: 2, out: "", err: whole.out });
  for (const command of COMMANDS)
    expect(await parlance("/", `${command} x -h`)).toEqual(await parlance("/", `${command} --wat --help`));
});
