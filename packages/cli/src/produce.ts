import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { ContractDocument } from "@parlance/contract";
import { assemble } from "@parlance/contract/load";
import { contractsAt } from "./folders.js";
import { exit, type Io } from "./io.js";
import { faults } from "./lint.js";
import { fileIn, print, type Remark } from "./report.js";

type Texts = Readonly<Record<string, string>>;

export interface Production {
  readonly from: string;
  readonly out: string;
  readonly check?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** Words in the first lines of everything produced; a file in `out` that has them and is no longer produced is left over. */
  readonly marker?: string;
}

/** Makes files of contracts, which have to be sound, and writes them, or tells which are not as they would be written. */
export async function produce(
  make: (document: ContractDocument) => Texts | Promise<Texts>,
  { from, out, check, json, marker }: Production,
  io: Io,
): Promise<number> {
  const { places, single } = await contractsAt(from, io);
  const remarks = await faults(places, { patterns: false });
  const texts: Record<string, string> = {};
  const owners: Record<string, string> = {};
  if (remarks.length === 0)
    for (const { folder } of places)
      for (const [file, text] of Object.entries(await make(assemble(folder)))) {
        texts[file] = text;
        owners[file] = folder.name;
      }
  const directory = resolve(io.cwd, out);
  const changed: string[] = [];
  for (const [file, text] of Object.entries(texts))
    if ((await readFile(join(directory, file), "utf8").catch(() => undefined)) !== text) changed.push(file);
  const left = marker === undefined || single || remarks.length > 0 ? [] : await leftovers(directory, texts, marker);

  if (check) {
    const stale = (file: string, message: string): Remark => ({
      contract: owners[file] ?? "",
      rule: "stale",
      message,
      file: fileIn(out, file),
      line: 1,
      pointer: "",
    });
    remarks.push(...changed.map((file) => stale(file, "is not what the contract gives now: run it without --check")));
    remarks.push(...left.map((file) => stale(file, "comes from a contract that is gone: run it without --check")));
  } else if (remarks.length === 0) {
    for (const file of changed) {
      await mkdir(dirname(join(directory, file)), { recursive: true });
      await writeFile(join(directory, file), texts[file]!);
    }
    for (const file of left) await rm(join(directory, file));
  }
  if (json) io.out(`${JSON.stringify({ findings: remarks }, null, 2)}\n`);
  else print(remarks, io);
  if (remarks.length > 0) return exit.findings;
  const total = Object.keys(texts).length;
  if (!json)
    io.err(
      check
        ? `${total} files are up to date\n`
        : `${changed.length} of ${total} files written, ${left.length} removed\n`,
    );
  return exit.fine;
}

/** Files that an earlier run wrote and this one does not. Only what says that it was generated is ever taken for one. */
async function leftovers(directory: string, texts: Texts, marker: string): Promise<string[]> {
  const names = (await readdir(directory).catch(() => [])).filter((name) => !(name in texts) && name.endsWith(".ts"));
  const heads = await Promise.all(
    names.map(async (name) => (await readFile(join(directory, name), "utf8")).slice(0, 200)),
  );
  return names.filter((_, index) => heads[index]!.includes(marker)).sort();
}
