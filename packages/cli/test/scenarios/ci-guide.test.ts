import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { edit, folder, parlance, started } from "../terminal.js";

// The steps of "In CI" in the guide of a protocol's team, as they are written there, in clones of a repository.

const guide = await readFile(new URL("../../../../docs/start/protocol-team.md", import.meta.url), "utf8");
const workflow = guide.split("## In CI")[1]!.split("```")[1]!;
const steps = [...workflow.matchAll(/- run: npx parlance (.*)$/gm)].map(([, words]) => words!);
const depth = Number(/fetch-depth: (\d+)/.exec(workflow)?.[1]);

const git = (cwd: string, ...words: string[]) => {
  const who = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
  return execFileSync("git", [...who, ...words], { cwd, stdio: "pipe" });
};

/** A clone, as the checkout of a pull request is: of the whole history for a depth of 0. */
async function clone(fetched: number, config: readonly string[] = []): Promise<string> {
  const origin = await started();
  await parlance(origin, "generate --out src/protocols");
  git(origin, "init", "-q", "-b", "main");
  git(origin, "add", "-A");
  git(origin, "commit", "-q", "-m", "One.");
  git(origin, "checkout", "-q", "-b", "topic");
  git(origin, "commit", "-q", "--allow-empty", "-m", "Two.");
  const cwd = await folder();
  const limit = fetched === 0 ? [] : ["--depth", String(fetched)];
  git(cwd, ...config, "clone", "-q", ...limit, `file://${origin}`, "work");
  return join(cwd, "work");
}

/** Each step's exit code and its annotations. */
async function run(cwd: string): Promise<{ codes: number[]; annotations: string[]; err: string }> {
  const all = await Promise.all(
    steps.map((words) => parlance(cwd, words, { GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: cwd })),
  );
  return {
    codes: all.map(({ code }) => code),
    annotations: all.flatMap(({ out }) => out.match(/^::.*$/gm) ?? []),
    err: all.map(({ err }) => err).join(""),
  };
}

describe("the workflow of the guide", () => {
  it("runs lint, generate and compat on the whole history", () => {
    expect(steps.map((words) => words.split(" ")[0])).toEqual(["lint", "generate", "compat"]);
    expect(depth).toBe(0);
  });

  it("passes where nothing is wrong", async () => {
    expect(await run(await clone(depth))).toMatchObject({ codes: [0, 0, 0], annotations: [] });
  });

  it("passes with the line ends of Windows", async () => {
    const cwd = await clone(depth, ["-c", "core.autocrlf=true", "-c", "core.eol=crlf"]);
    expect(await run(cwd)).toMatchObject({ codes: [0, 0, 0], annotations: [] });
  });

  it("fails with an annotation at the line of a mistake, of a stale file and of a break", async () => {
    const wrong = await clone(depth);
    await edit(wrong, "contract.json", '"POST"', '"SEND"');
    expect(await run(wrong)).toMatchObject({ codes: [1, 1, 1] });
    const broken = await clone(depth);
    await edit(broken, "messages/prompt.json", '"type": "string",', '"type": "string", "minLength": 1,');
    const { codes, annotations } = await run(broken);
    expect(codes).toEqual([0, 1, 1]);
    expect(annotations.map((line) => line.replace(/,title=parlance (.+?)::.*/, " $1"))).toEqual([
      "::error file=src/protocols/my-agent.ts,line=1 stale",
      "::error file=src/protocols/my-agent.accepts.ts,line=1 stale",
      "::error file=schemas/my-agent/messages/prompt.json,line=11 breaks client",
    ]);
  });

  it("says in a shallow clone how to fetch more", async () => {
    const { codes, err } = await run(await clone(1));
    expect(codes).toEqual([0, 0, 2]);
    expect(err).toContain("fetch-depth: 0");
  });
});
