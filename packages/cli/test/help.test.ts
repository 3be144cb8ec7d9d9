import { expect, test } from "vitest";
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
  ["init my-agent --example sockets", "sse, websocket or both"],
  ["apply", "name a file with edits, or - for the standard input"],
])("a mistake in `%s` is answered with what there is: %s", async (words, said) => {
  const { code, err } = await parlance("/", words);
  expect(code).toBe(2);
  expect(err).toContain(said);
});
