import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { COMMANDS, parlance } from "./terminal.js";

const script = async (shell: string) => (await parlance("/", `completion ${shell}`)).out;

/** What bash offers where a line stands so far. */
async function offered(line: string): Promise<string[]> {
  const words = line.split(" ");
  const program = `${await script("bash")}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _parlance; printf '%s\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync("bash", ["--norc", "-c", program, "bash", ...words], { encoding: "utf8" });
  return out.split("\n").filter(Boolean);
}

describe.skipIf(process.platform === "win32")("bash offers", () => {
  const cases: [line: string, words: string[]][] = [
    ["parlance ", [...COMMANDS, "--help", "--version"]],
    ["parlance l", ["lint"]],
    ["parlance --v", ["--version"]],
    ["parlance lint --", ["--json", "--strict", "--watch", "--help"]],
    ["parlance init my-agent --e", ["--example", "--extends"]],
    ["parlance init --example ", ["sse", "websocket", "both"]],
    ["parlance compat main --fail-on s", ["server", "source"]],
    ["parlance completion ", ["bash", "zsh", "fish"]],
    // Nothing of ours, so that bash completes files.
    ["parlance lint ", []],
    ["parlance nothing --", []],
  ];
  test.each(cases)("after %j its words", async (line, words) => {
    expect(await offered(line)).toEqual(words);
  });
});

test.each(["bash", "zsh", "fish"])(
  "the script for %s has every command and every option that its help tells",
  async (shell) => {
    const text = await script(shell);
    for (const command of COMMANDS) {
      expect(text).toContain(command);
      const { out } = await parlance("/", `${command} --help`);
      const options = [...out.matchAll(/^ {2}--([\w-]+)/gm)].map(([, option]) => option!);
      const line = text.split("\n").filter((one) => new RegExp(`\\b${command}(\\)|'| )`).test(one));
      for (const option of options)
        expect(
          line.some((one) => one.includes(shell === "fish" ? `-l ${option}` : `--${option}`)),
          `${command} ${option}`,
        ).toBe(true);
    }
  },
);

test("another shell is refused", async () => {
  expect(await parlance("/", "completion csh")).toEqual({
    code: 2,
    out: "",
    err: "parlance completion: name a shell: bash, zsh, fish\n",
  });
});
