import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as options from "../../src/options.js";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const page = read("../../../../docs/limits.md").split("## Client: ")[1]!.split("\n## ")[0]!;
const MI = 1024 * 1024;

/** The row of the page whose first cell begins like this: its second cell. */
function cell(name: string): string {
  const row = page.split("\n").find((line) => line.startsWith(`| ${name}`));
  return row?.split(" | ")[1] ?? `no row for ${name}`;
}

/** What a constant of a source file is. */
function constant(file: string, name: string): number {
  const [, text] = new RegExp(`^(?:export )?const ${name} = ([\\d_ .*]+);`, "m").exec(read(`../../src/${file}`)) ?? [];
  return text!.split("*").reduce((product, factor) => product * Number(factor.replaceAll("_", "")), 1);
}

test.each<[row: string, file: string, name: string, written: (value: number) => string]>([
  ["`maxMessageSize`", "options.ts", "MAX_MESSAGE_SIZE", (size) => `${size / MI} Mi characters`],
  ["`maxQueued`", "options.ts", "MAX_QUEUED", (size) => `${size / MI} Mi characters`],
  ["characters that wait to be sent", "options.ts", "ROOM", (size) => `${size / MI} Mi`],
  ["`answerTimeout`", "options.ts", "ANSWER_TIMEOUT", (time) => `${time / 1000} s`],
  ["`idleTimeout`", "options.ts", "IDLE_TIMEOUT", (time) => `${time / 1000} s`],
  ["`idleTimeout`", "stream/resuming.ts", "BEATS", (beats) => `${beats} heartbeats`],
  ["a channel of a server that resumes", "stream/resuming.ts", "BEATS", (beats) => `${beats} heartbeats`],
  ["a plain channel's handshake", "options.ts", "ANSWER_WITHIN", (time) => `${time / 1000} s`],
  [
    "to ask for the ticket",
    "channel/offer.ts",
    "ASKED",
    (times) => `for ${["no", "one", "two", "three"][times]} tries`,
  ],
  ["`reconnectFor`", "options.ts", "RECONNECT_FOR", (time) => `${time / 1000} s`],
  ["`reconnectFor`", "rejoin.ts", "LEAST_COST", (time) => `costs ${time} ms`],
  ["an opening by `reopen`", "stream/reopening.ts", "PROVED", (time) => `${time / 1000} s of a connection that holds`],
  ["a request whose answer was never seen", "stream/resuming.ts", "MAYBE_RECEIVED", (time) => `${time} s`],
  [
    "refused upgrades",
    "channel/reconnecting.ts",
    "UPGRADES",
    (times) => `${["no", "one", "two", "three"][times]} in a row`,
  ],
  ["a close that is not confirmed", "channel/socket.ts", "CLOSE_WITHIN", (time) => `${time / 1000} s`],
  ["the answer to a cancel", "options.ts", "ANSWER_WITHIN", (time) => `${time / 1000} s`],
  ["body of a refusal", "socket.ts", "MAX_REFUSAL", (size) => `${size / 1024} Ki characters`],
  ["body of a refusal", "read.ts", "MAX_QUOTE", (size) => `${size / 1024} Ki characters`],
  ["frames kept for a resume", "channel/reconnecting.ts", "KEPT", (size) => `${size / MI} Mi characters`],
])("docs/limits.md has the limit of the code: %s (%s, %s)", (row, file, name, written) => {
  expect(cell(row)).toMatch(new RegExp(`(^|[^\\d.])${written(constant(file, name)).replace(".", "\\.")}`));
});

test.each<[option: string, value: number]>([
  ["maxMessageSize", options.MAX_MESSAGE_SIZE],
  ["maxQueued", options.MAX_QUEUED],
  ["reconnectFor", options.RECONNECT_FOR],
  ["idleTimeout", options.IDLE_TIMEOUT],
  ["answerTimeout", options.ANSWER_TIMEOUT],
])("the docstring of %s has its default", (option, value) => {
  const [, written] = new RegExp(`@default ([\\d,]+(?: Mi)?)\\s+\\*/\\n  readonly ${option}\\?`).exec(
    read("../../src/options.ts"),
  )!;
  expect(written).toBe(option.startsWith("max") ? `${value / MI} Mi` : value.toLocaleString("en"));
});
