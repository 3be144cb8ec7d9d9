import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { GenerateError } from "@parlance/language/generate";
import { assemble } from "@parlance/language/load";
import type { ContractDocument } from "@parlance/wire";
import { contractsAt, type Place } from "./folders.js";
import { exit, type Io } from "./io.js";
import { faults } from "./lint.js";
import { fileIn, print, type Remark } from "./report.js";

type Texts = Readonly<Record<string, string>>;
type Make = (document: ContractDocument) => Texts | Promise<Texts>;

export interface Production {
  readonly from: string;
  readonly out: string;
  readonly check?: boolean | undefined;
  readonly json?: boolean | undefined;
  /** A marker in the first lines of every produced file; other files in `out` with it are stale. */
  readonly marker?: string;
}

/** Produces files from sound contracts and writes them, or reports those that are stale. */
export async function produce(make: Make, { from, out, check, json, marker }: Production, io: Io): Promise<number> {
  const { places, single } = await contractsAt(from, io);
  const directory = resolve(io.cwd, out);
  const { remarks, texts } = await made(make, places, !check);
  const changed: string[] = [];
  for (const [file, text] of Object.entries(texts))
    if (unix(await readFile(join(directory, file), "utf8").catch(() => undefined)) !== text) changed.push(file);
  const whole = !single && remarks.length === 0;
  const left = marker !== undefined && whole ? await leftovers(directory, texts, marker) : [];

  if (check) {
    remarks.push(
      ...changed.map((file) => stale(out, file, "is not what its contract gives now; run it without --check")),
    );
    remarks.push(...left.map((file) => stale(out, file, "comes from a contract that is gone; run it without --check")));
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
  const removed = left.length > 0 ? `, ${left.length} removed` : "";
  if (!json)
    io.err(check ? `${total} files are up to date\n` : `${changed.length} of ${total} files written${removed}\n`);
  return exit.fine;
}

/** A text with the line ends that we write: Git for Windows checks files out with others, and they are not stale. */
const unix = (text: string | undefined) => text?.replaceAll("\r\n", "\n");

/** The files of all contracts, or the problems of some. */
async function made(
  make: Make,
  places: readonly Place[],
  examples: boolean,
): Promise<{ remarks: Remark[]; texts: Texts }> {
  // Files that are up to date were written from a contract whose examples were judged.
  const remarks = await faults(places, { examples });
  if (remarks.length > 0) return { remarks, texts: {} };
  const texts = places.map(async ({ path, folder }) => {
    try {
      return await make(assemble(folder));
    } catch (error) {
      if (!(error instanceof GenerateError)) throw error;
      const file = fileIn(path, "contract.json");
      remarks.push({ contract: folder.name, rule: "generate", message: error.message, file, line: 1, pointer: "" });
      return {};
    }
  });
  return { remarks, texts: Object.assign({}, ...(await Promise.all(texts))) };
}

const stale = (out: string, file: string, message: string): Remark => ({
  contract: file.replace(/\..*$/, ""),
  rule: "stale",
  message,
  file: fileIn(out, file),
  line: 1,
  pointer: "",
});

/** Files that an earlier run wrote and this one does not. Only files with the marker count. */
async function leftovers(directory: string, texts: Texts, marker: string): Promise<string[]> {
  const names = (await readdir(directory).catch(() => [])).filter((name) => !(name in texts) && name.endsWith(".ts"));
  const heads = names.map(async (name) => (await readFile(join(directory, name), "utf8")).slice(0, 200));
  const marked = (await Promise.all(heads)).map((head) => head.includes(marker));
  return names.filter((_, index) => marked[index]).sort();
}
