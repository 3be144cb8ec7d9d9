import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { edit, extended, folder, parlance, started, write } from "./terminal.js";

describe("compat", () => {
  const repository = async () => {
    const cwd = await started();
    const git = (...words: string[]) => execFileSync("git", words, { cwd, stdio: "pipe" });
    git("init", "-q", "-b", "main");
    git("add", ".");
    git("-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "One.");
    return cwd;
  };

  test.each(["main", "HEAD:schemas", "main:./schemas/"])("compares with the git revision %s", async (revision) => {
    const cwd = await repository();
    expect(await parlance(cwd, `compat ${revision}`)).toEqual({ code: 0, out: "", err: "0 changes, 0 breaking\n" });
    await edit(cwd, "contract.json", '"/prompt"', '"/ask"');
    const { code, out } = await parlance(cwd, `compat ${revision}`);
    expect(code).toBe(1);
    expect(out.split("\n")).toEqual([
      "schemas/my-agent/contract.json:30: the path /ask was added [breaks nobody]",
      "schemas/my-agent/contract.json:30 /operations/prompt/path: the path /prompt was removed; the path is now /ask: existing clients use the old form [breaks client]",
      "",
    ]);
  });

  test("compares one contract with one of a revision", async () => {
    const cwd = await repository();
    await edit(cwd, "messages/prompt.json", '"PromptBody"', '"AskBody"');
    expect((await parlance(cwd, "compat HEAD:schemas/my-agent schemas/my-agent")).code).toBe(0);
    expect((await parlance(join(cwd, "schemas"), "compat main my-agent")).code).toBe(0);
  });

  test("reads what a contract of a revision extends from the same revision", async () => {
    const cwd = await extended();
    const git = (...words: string[]) => execFileSync("git", words, { cwd, stdio: "pipe" });
    git("init", "-q", "-b", "main");
    git("add", ".");
    git("-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", "One.");
    expect(await parlance(cwd, "compat main")).toEqual({ code: 0, out: "", err: "0 changes, 0 breaking\n" });
    await edit(cwd, "contract.json", '"/prompt"', '"/ask"');
    for (const schemas of ["schemas", "schemas/their-agent"]) {
      const { code, out } = await parlance(cwd, `compat main ${schemas}`);
      expect(code).toBe(1);
      expect(out).toContain(
        "my-agent/contract.json:30 /operations/prompt/path: the path /prompt was removed; the path is now /ask",
      );
    }
  });

  test("compares two folders, and tells contracts that are new and gone", async () => {
    const cwd = await started();
    await parlance(cwd, "init next/my-agent");
    await parlance(cwd, "init next/other");
    expect((await parlance(cwd, "compat schemas next")).out).toBe(
      "next/other/contract.json:1: the contract other was added [breaks nobody]\n",
    );
    const { code, out } = await parlance(cwd, "compat next schemas --json");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual({
      changes: [
        {
          contract: "other",
          breaks: ["client", "server", "source"],
          why: "both sides are built for it",
          what: "the contract other was removed",
          file: "next/other/contract.json",
          line: 1,
          pointer: "",
        },
      ],
    });
  });

  test("accepts what compat.json names, until its day, and fails on whom --fail-on names", async () => {
    const cwd = await repository();
    await edit(cwd, "messages/prompt.json", '"PromptBody"', '"AskBody"');
    expect((await parlance(cwd, "compat main")).code).toBe(0);
    expect((await parlance(cwd, "compat main --fail-on source")).code).toBe(1);
    const change = "schemas/my-agent/messages/prompt.json#/title";
    const known = (until: string) => JSON.stringify([{ change, reason: "Nobody imports it.", until }]);
    await write(cwd, { "compat.json": known("2999-12-31") });
    const { code, out } = await parlance(cwd, "compat main --fail-on source");
    expect({ code, out }).toEqual({
      code: 0,
      out: "schemas/my-agent/messages/prompt.json:3: the type PromptBody was renamed to AskBody [accepted: Nobody imports it.]\n",
    });
    await write(cwd, { "compat.json": known("2020-01-01") });
    const over = await parlance(cwd, "compat main --fail-on source");
    expect(over.code).toBe(1);
    expect(over.err).toContain(`compat.json: ${change} was accepted until 2020-01-01\n`);
    for (const day of ["2026-02-30", "2026-13-01", "soon"]) {
      await write(cwd, { "compat.json": known(day) });
      const wrong = await parlance(cwd, "compat main");
      expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('"until", a day such as 2027-01-31')]);
    }
    await write(cwd, { "compat.json": known("2999-12-31").replace("#/title", "#/nothing") });
    const stale = await parlance(cwd, "compat main");
    const entry = "schemas/my-agent/messages/prompt.json#/nothing";
    expect([stale.code, stale.err]).toEqual([
      1,
      `1 change, 0 breaking\ncompat.json: nothing changed at ${entry}; remove the entry or correct it\n`,
    ]);
    await write(cwd, { "compat.json": "{}" });
    expect((await parlance(cwd, "compat main")).err).toContain("compat.json: it is a list of accepted changes");
    expect((await parlance(cwd, "compat main --fail-on everyone")).err).toContain(
      "it is client, server, source or none",
    );
  });

  test("shows a value that breaks, and warns of what it cannot decide", async () => {
    const cwd = await repository();
    await edit(cwd, "messages/prompt.json", '"type": "string",', '"type": "string", "minLength": 1,');
    const at = "schemas/my-agent/messages/prompt.json:11 /properties/prompt/minLength";
    expect((await parlance(cwd, "compat main")).out).toContain(
      `${at}: minLength was not given and is 1: the server rejects what existing clients send, for example "" [breaks client]\n`,
    );
    await edit(cwd, "messages/prompt.json", '"minLength": 1,', '"contentEncoding": "base64",');
    const { code, out, err } = await parlance(cwd, "compat main");
    expect([code, err]).toEqual([0, "1 change, 0 breaking, 1 unclear\n"]);
    expect(out).toMatch(/contentEncoding: warning: contentEncoding was not given and is "base64": .* \[unclear\]\n$/);
  });

  test("compares two revisions, and says in a shallow clone that more history is needed", async () => {
    const cwd = await repository();
    expect((await parlance(cwd, "compat main..HEAD")).err).toBe("0 changes, 0 breaking\n");
    const shallow = await folder();
    execFileSync("git", ["clone", "-q", "--depth", "1", `file://${cwd}`, shallow], { stdio: "pipe" });
    expect((await parlance(shallow, "compat v1")).err).toContain("fetch more of it (in CI, fetch-depth: 0)");
  });

  test("says that a revision is none, and that it has no contract", async () => {
    const cwd = await repository();
    expect((await parlance(cwd, "compat nope")).err).toBe(
      "parlance compat: nope is neither a folder nor a git revision\n",
    );
    expect((await parlance(cwd, "compat main:docs")).err).toBe("parlance compat: main:docs has no contract in docs\n");
  });

  test("exits 2 where a version cannot be read, and says why", async () => {
    const cwd = await repository();
    await edit(cwd, "messages/text.json", "{", "");
    const { code, err } = await parlance(cwd, "compat main");
    expect(code).toBe(2);
    expect(err).toContain("parlance compat: my-agent/messages/text.json: is not JSON");
  });
});
