import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { session, typed } from "./session.js";
import { folder, parlance } from "./terminal.js";

// What init writes and shows. `-u` rewrites the files.

const keeps = (text: string, name: string) => expect(text).toMatchFileSnapshot(`./sessions/${name}.txt`);

test.each(["sse", "websocket", "both", "agent"])(
  "init writes a contract for %s, and shows how to use it",
  async (example) => {
    const cwd = await folder();
    const printed = await typed(cwd, `init schemas/fold-gateway --example ${example}`);
    const own = join(cwd, "schemas/fold-gateway");
    const names = (await readdir(own, { recursive: true })).filter((name) => /\.jsonl?$/.test(name)).sort();
    const texts = names.map(async (name) => `--- ${name}\n${await readFile(join(own, name), "utf8")}`);
    await keeps([printed, ...(await Promise.all(texts))].join("\n"), `init-${example}`);
  },
);

test("init tells a folder that is not empty, and what an extended contract is", async () => {
  const cwd = await folder({ "schemas/full/x.txt": "", "bare/contract.json": "{}" });
  await parlance(cwd, "init base/my-agent");
  await keeps(
    [
      await session(cwd, ["init schemas/full", "init", "init --extends base/my-agent"]),
      await typed(cwd, "init schemas/b2 --extends ./base/my-agent"),
      await typed(join(cwd, "base"), "init in-it --extends my-agent"),
      await typed(cwd, "init schemas/of-bare --extends bare"),
      await readFile(join(cwd, "schemas/my-my-agent/contract.json"), "utf8"),
      await readFile(join(cwd, "schemas/of-bare/contract.json"), "utf8"),
    ].join("\n"),
    "init",
  );
});
