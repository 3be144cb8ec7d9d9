import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { type Change, compat } from "@parlance/contract/compat";
import { assemble } from "@parlance/contract/load";
import { contractsAt, isDirectory, type Place } from "./folders.js";
import { contractsOf } from "./git.js";
import { exit, type Io, UsageError } from "./io.js";
import { fileIn, has, placeIn, print, type Remark } from "./report.js";

export const help = `parlance compat OLD [NEW] [--json]

Says what changed from OLD to NEW (default ./schemas), and for whom it breaks, taking it that a server takes up a contract
before its clients do. NEW is a contract's folder or a folder of contracts. OLD is one too, or a git revision: "main" is NEW
as it is there, "HEAD~1:schemas/loco" another path of the repository.

  --json    one JSON document: { "changes": [{ contract, breaking, what, file, line, pointer }] }
            with breaking one of clients, servers, both, none

Exit codes: 0 nothing breaks, 1 something does, 2 usage, or a contract that cannot be read.
`;

interface Located extends Change {
  readonly contract: string;
  readonly line: number;
}

export async function command(argv: string[], io: Io): Promise<number> {
  const { values, positionals } = parseArgs({
    args: argv,
    options: { json: { type: "boolean" } },
    allowPositionals: true,
  });
  const [old, now = "schemas"] = positionals;
  if (old === undefined) throw new UsageError("OLD is needed: a folder, or a git revision such as main");
  const after = await contractsAt(now, io);
  const before = (await isDirectory(resolve(io.cwd, old)))
    ? (await contractsAt(old, io)).places
    : await contractsOf(old, resolve(io.cwd, now));
  const changes = between(before, after.places, after.single);
  const breaking = changes.filter((change) => change.breaking !== "none");
  if (values.json) {
    io.out(`${JSON.stringify({ changes }, null, 2)}\n`);
    return breaking.length === 0 ? exit.fine : exit.findings;
  }
  for (const { breaking, what, file, line } of changes)
    if (breaking === "none") io.out(`${file}:${line}: ${what} [breaks nobody]\n`);
  print(breaking.map(remark), io);
  io.err(`${changes.length} ${changes.length === 1 ? "change" : "changes"}, ${breaking.length} breaking\n`);
  return breaking.length === 0 ? exit.fine : exit.findings;
}

const remark = ({ contract, breaking, what, file, line, pointer }: Located): Remark => ({
  contract,
  rule: `breaks ${breaking === "both" ? "clients and servers" : breaking}`,
  message: what,
  file,
  line,
  pointer,
});

function between(before: readonly Place[], after: readonly Place[], single: boolean): Located[] {
  const whole = (breaking: Change["breaking"], what: string, { path, folder }: Place): Located => ({
    contract: folder.name,
    breaking,
    what,
    file: fileIn(path, "contract.json"),
    line: 1,
    pointer: "",
  });
  // Two folders given as such are compared whatever they are called.
  const pairs: [Place | undefined, Place | undefined][] =
    single && before.length === 1
      ? [[before[0], after[0]]]
      : [...new Set([...before, ...after].map(({ folder }) => folder.name))].sort().map((name) => {
          const of = (places: readonly Place[]) => places.find(({ folder }) => folder.name === name);
          return [of(before), of(after)];
        });
  return pairs.flatMap(([old, now]) => {
    if (!now) return whole("both", `the contract ${old!.folder.name} is gone`, old!);
    if (!old) return whole("none", `the contract ${now.folder.name} is new`, now);
    return compat(assemble(old.folder), assemble(now.folder)).map((change): Located => {
      const home = has(now.folder, change.file, change.pointer) ? now : old;
      return {
        contract: now.folder.name,
        ...change,
        ...placeIn(home, change.file, change.pointer),
      };
    });
  });
}
