import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { linesOf, type Script, scriptOf } from "./lines.js";
import { Runner } from "./runner.js";

/** What a test file reaches, as recorded once. */
export interface Reach {
  readonly test: string;
  /** Milliseconds that it took, modules loaded anew. */
  readonly ms: number;
  /** Files of the repository that it runs, the test file too: by content, with their lines that ran. */
  readonly files: Readonly<Record<string, { readonly hash: string; readonly lines: readonly number[] }>>;
}

/** Test files that are recorded before what is known is written: a recording that is cut off is not lost. */
const BATCH = 12;

/**
 * Reads what the tests reach in some packages, and records again the tests of which a file has changed: their own, or one of those packages. `copy`
 * is a copy of the checkout at `root`.
 */
export async function reachOf(
  root: string,
  copy: string,
  packages: readonly string[],
  wanted: (test: string) => boolean,
  say: (text: string) => void,
): Promise<Reach[]> {
  const store = join(root, "node_modules/.mutate/reach");
  const raw = join(dirname(copy), "raw");
  mkdirSync(store, { recursive: true });
  const runner = new Runner(copy, { PARLANCE_REACH: raw });
  try {
    const tests = [...(await runner.list())].filter(wanted).sort();
    const known = new Map(tests.map((test) => [test, read(join(store, fileOf(test)), root, packages)]));
    const stale = tests.filter((test) => known.get(test) === undefined);
    for (let index = 0; index < stale.length; index += BATCH) {
      const batch = stale.slice(index, index + BATCH);
      say(`recording what tests reach: ${index + 1} to ${index + batch.length} of ${stale.length} files`);
      for (const reach of await record(runner, copy, raw, batch)) {
        writeFileSync(join(store, fileOf(reach.test)), JSON.stringify(reach));
        known.set(reach.test, reach);
      }
    }
    const silent = tests.filter((test) => known.get(test) === undefined);
    if (silent.length > 0) say(`left out, because they fail without a change: ${silent.join(", ")}`);
    return tests.flatMap((test) => known.get(test) ?? []);
  } finally {
    runner.close();
    rmSync(raw, { recursive: true, force: true });
  }
}

const fileOf = (test: string) => `${test.replaceAll("/", "~")}.json`;
const hashOf = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16);

function read(path: string, root: string, packages: readonly string[]): Reach | undefined {
  if (!existsSync(path)) return undefined;
  const reach = JSON.parse(readFileSync(path, "utf8")) as Reach;
  const counts = ([file]: readonly [string, unknown]) => {
    const [, name, folder] = file.split("/");
    return file === reach.test || (folder === "src" && packages.includes(name!));
  };
  const same = Object.entries(reach.files)
    .filter(counts)
    .every(
      ([file, { hash }]) => existsSync(join(root, file)) && hashOf(readFileSync(join(root, file), "utf8")) === hash,
    );
  return same ? reach : undefined;
}

async function record(runner: Runner, copy: string, raw: string, tests: readonly string[]): Promise<Reach[]> {
  rmSync(raw, { recursive: true, force: true });
  const ran = await runner.run({ files: tests, changed: [] });
  const reached = new Map(tests.map((test) => [test, new Map<string, Set<number>>([[test, new Set()]])]));
  for (const name of existsSync(raw) ? readdirSync(raw).filter((file) => file.endsWith(".json")) : []) {
    const of = JSON.parse(readFileSync(join(raw, name), "utf8")) as { test: string; scripts: Raw[] };
    const files = reached.get(relative(copy, of.test));
    if (!files) continue;
    for (const { url, text, map, functions } of of.scripts) {
      const script = scriptOf(text, map, functions);
      if (script) for (const [, lines] of linesOf(script)) add(files, relative(copy, fileURLToPath(url)), lines);
    }
    const children = join(raw, name.replace(".json", ""));
    for (const child of existsSync(children) ? readdirSync(children) : []) addChild(files, copy, join(children, child));
  }
  return tests.flatMap((test) => {
    const ms = ran?.passed[test];
    return ms === undefined ? [] : [{ test, ms, files: filesOf(copy, reached.get(test)!) }];
  });
}

interface Raw {
  readonly url: string;
  readonly text: string;
  readonly map?: string;
  readonly functions: Script["functions"];
}

function filesOf(copy: string, reached: ReadonlyMap<string, ReadonlySet<number>>): Reach["files"] {
  return Object.fromEntries(
    [...reached]
      .filter(([file]) => existsSync(join(copy, file)))
      .map(([file, lines]) => {
        const hash = hashOf(readFileSync(join(copy, file), "utf8"));
        return [file, { hash, lines: /^packages\/[^/]+\/src\//.test(file) ? [...lines].sort((a, b) => a - b) : [] }];
      }),
  );
}

function add(files: Map<string, Set<number>>, file: string, lines: ReadonlySet<number>): void {
  files.set(file, new Set([...(files.get(file) ?? []), ...lines]));
}

/** Of a process that a test started, as Node wrote it down. */
function addChild(files: Map<string, Set<number>>, copy: string, path: string): void {
  const written = JSON.parse(readFileSync(path, "utf8")) as {
    readonly result: readonly { readonly url: string; readonly functions: Script["functions"] }[];
    readonly "source-map-cache"?: Readonly<
      Record<string, { readonly lineLengths: number[]; readonly data: Script["map"] | null }>
    >;
  };
  for (const { url, functions } of written.result) {
    const cached = written["source-map-cache"]?.[url];
    if (!cached?.data || !url.startsWith("file:")) continue;
    const script = { functions, lengths: cached.lineLengths, map: cached.data, shift: 0 };
    for (const [source, lines] of linesOf(script)) {
      const file = relative(copy, fileURLToPath(new URL(source, url)));
      if (!file.startsWith("..") && !file.includes("node_modules/") && existsSync(join(copy, file)))
        add(files, file, lines);
    }
  }
}
