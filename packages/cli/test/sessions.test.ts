import { execFileSync } from "node:child_process";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { session, typed } from "./session.js";
import { folder, parlance, write } from "./terminal.js";

// What a user sees, command by command. `-u` rewrites the files; a change of one is a change of what the command prints.

const keeps = (text: string, name: string) => expect(text).toMatchFileSnapshot(`./sessions/${name}.txt`);

/** Changes one file of the contract that init writes. */
async function edit(cwd: string, file: string, from: string, to: string): Promise<void> {
  const path = join(cwd, "schemas/my-agent", file);
  const text = await readFile(path, "utf8");
  expect(text).toContain(from);
  await writeFile(path, text.replace(from, to));
}

async function started(example = "sse"): Promise<string> {
  const cwd = await folder();
  await parlance(cwd, `init --example ${example}`);
  return cwd;
}

test.each(["bash", "zsh", "fish"])("completion prints the script for %s", async (shell) => {
  await keeps((await parlance("/", `completion ${shell}`)).out, `completion-${shell}`);
});

test("lint, generate and docs tell what they found and wrote", async () => {
  const cwd = await started();
  const texts = [
    await session(cwd, [
      "lint",
      "lint --json",
      "lint schemas/my-agent --strict",
      "generate --out out",
      "docs --out docs",
    ]),
    await session(cwd, ["generate --out out", "generate --out out --check", "docs --out docs --check --json"]),
  ];
  await parlance(cwd, "init schemas/other");
  texts.push(await session(cwd, ["lint", "generate --out out --check", "generate --out out", "docs --out docs"]));
  await edit(cwd, "messages/text.json", '"description": "A piece of the answer\'s text.",', "");
  await edit(cwd, "messages/done.json", '"description": "The answer is complete: its whole text.",', "");
  texts.push(await session(cwd, ["lint", "lint --strict", "docs --out docs --check"]));
  await edit(cwd, "contract.json", '"POST"', '"SEND"');
  texts.push(await session(cwd, ["lint", "lint --json", "generate --out out", "generate --out out --json --check"]));
  const env = { GITHUB_ACTIONS: "true" };
  texts.push(
    await typed(cwd, "lint", env),
    await typed(cwd, "lint my-agent", { ...env, GITHUB_WORKSPACE: "/elsewhere" }),
  );
  await edit(cwd, "../other/messages/text.json", '"type": "string",', '"type": "string", "pattern": "^(a+)+|.*$",');
  texts.push(await session(cwd, ["lint schemas/other", "generate schemas/other --out slow"]));
  await edit(cwd, "../other/messages/text.json", ' "pattern": "^(a+)+|.*$",', "");
  await rm(join(cwd, "schemas/my-agent"), { recursive: true });
  // Of one contract nothing is left over, because the others are not known.
  texts.push(await session(cwd, ["generate schemas/other --out out", "generate --out out --check --json"]));
  texts.push(await session(cwd, ["docs --out docs", "generate --out out", "generate --out out"]));
  await keeps(texts.join("\n"), "lint-generate-docs");
});

test("compat tells each change of a folder and of a revision", async () => {
  const cwd = await started("both");
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@example.com", ...words], {
      cwd,
      stdio: "pipe",
    });
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-q", "-m", "One.");
  await edit(cwd, "contract.json", '"/prompt"', '"/ask"');
  await edit(cwd, "messages/prompt.json", '"PromptBody"', '"AskBody"');
  const revisions = [
    "main",
    "main:schemas",
    "main:./schemas/my-agent",
    "HEAD:schemas/",
    "main:schemas schemas/my-agent",
  ];
  const texts = [
    await session(
      cwd,
      revisions.map((one) => `compat ${one}`),
    ),
  ];
  const parties = ["none", "client", "server", "source", "source,client", "nobody"];
  texts.push(
    await session(
      cwd,
      parties.map((who) => `compat main --fail-on ${who}`),
    ),
  );
  texts.push(await session(cwd, ["compat main --json", "compat main --json --fail-on none", "compat main:./ ."]));
  git("commit", "-q", "-a", "-m", "Two.");
  await parlance(cwd, "init schemas/other");
  await rm(join(cwd, "schemas/my-agent"), { recursive: true });
  texts.push(await session(cwd, ["compat main", "compat HEAD~1..HEAD", "compat HEAD..main", "compat main..nope"]));
  texts.push(
    await session(cwd, ["compat nope", "compat main:nope", "compat", "compat nowhere schemas", "compat main x"]),
  );
  await write(cwd, { "a..b/contract.json": "{}", "none.json": "nothing", "flawed.json": '[{ "change": "x" }]' });
  texts.push(await session(cwd, ["compat a..b schemas", "compat main --accepted none.json"]));
  texts.push(await session(cwd, ["compat main --accepted flawed.json", "compat main --accepted gone.json"]));
  await keeps(texts.join("\n"), "compat");
});

test("apply tells what changed, what it repaired and what it could not apply", async () => {
  const diff = (path: string, from: string, to: string) =>
    `--- a/${path}\n+++ b/${path}\n@@ -1 +1 @@\n-${from}\n+${to}\n`;
  const cwd = await folder({
    "a.txt": "one\n",
    "b.txt": "two\n",
    "both.diff": diff("a.txt", "one", "1") + diff("b.txt", "two", "2"),
    "back.diff": diff("a.txt", "1", "one"),
    "counts.diff": diff("b.txt", "2", "two").replace("-1 +1", "-4,7 +4,9"),
    "half.diff": diff("a.txt", "one", "uno") + diff("b.txt", "zwei", "due"),
    "prose.txt": "Nothing here.\n",
    "nameless.txt": "<<<<<<< SEARCH\none\n=======\neins\n>>>>>>> REPLACE\n",
    "whole.txt": "c.txt\n```\nall of it\n```\n",
  });
  await writeFile(join(cwd, "latin.diff"), Buffer.from([0xe4, 0x0a]));
  const texts = [
    await session(cwd, [
      "apply both.diff --check",
      "apply both.diff",
      "apply back.diff counts.diff",
      "apply half.diff",
    ]),
    await session(cwd, [
      "apply half.diff prose.txt --json",
      "apply prose.txt back.diff",
      "apply latin.diff",
      "apply -",
    ]),
    await session(cwd, ["apply nameless.txt", "apply nameless.txt --path a.txt", "apply whole.txt"]),
    await session(cwd, ["apply whole.txt --whole-files", "apply back.diff --check --json", "apply counts.diff --json"]),
    await session(cwd, ["apply both.diff --root prose.txt", "apply both.diff --root nowhere", "apply"]),
  ];
  await keeps(texts.join("\n"), "apply");
});
