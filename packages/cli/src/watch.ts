import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { openOnDisk, read } from "@parlance/language/load";
import { contractsAt, isDirectory } from "./folders.js";
import { exit, expected, type Io, interruptOf } from "./io.js";

/** Milliseconds to wait after a change, because editors write a file in several steps. */
const settling = 50;

/**
 * Runs a command, and again after each change of the contracts at `from` or of contracts that they extend, until Ctrl-C.
 * An error that the command reports does not end the watch.
 */
export async function repeat(from: string, command: () => Promise<number>, io: Io): Promise<number> {
  const interrupt = interruptOf(io);
  const known = new Set<string>();
  while (!interrupt.aborted) {
    for (const directory of await directoriesAt(from, io)) known.add(directory);
    // Watching begins before the command reads, so that no change falls between the two.
    const change = await changed(known, interrupt);
    try {
      await command();
    } catch (error) {
      if (!expected(error)) {
        change.cancel();
        throw error;
      }
      io.err(`${error.message}\n`);
    }
    io.err(`Watching ${from}; Ctrl-C ends it.\n`);
    await change.happened;
  }
  return exit.fine;
}

interface Change {
  readonly happened: Promise<void>;
  cancel(): void;
}

/** Resolves once, after something changes in one of these directories, or on Ctrl-C. A directory that is gone is awaited in the nearest one above. */
async function changed(directories: Iterable<string>, interrupt: AbortSignal): Promise<Change> {
  const present = new Set(await Promise.all([...directories].map(nearest)));
  const watchers: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;
  let cancel = () => {};
  const happened = new Promise<void>((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
      interrupt.removeEventListener("abort", finish);
      resolve();
    };
    const settle = () => {
      clearTimeout(timer);
      timer = setTimeout(finish, settling);
    };
    cancel = finish;
    interrupt.addEventListener("abort", finish);
    // Removing a watched directory is an error on some systems, and a change on all.
    for (const directory of present) watchers.push(watch(directory, settle).on("error", settle));
    if (interrupt.aborted) finish();
  });
  return { happened, cancel: () => cancel() };
}

const nearest = async (directory: string): Promise<string> =>
  (await isDirectory(directory)) || dirname(directory) === directory ? directory : nearest(dirname(directory));

/** The directories of all files of the contracts at `from`. Unreadable ones are left out until they can be read. */
async function directoriesAt(from: string, io: Io): Promise<Set<string>> {
  const root = resolve(io.cwd, from);
  const found = new Set([root]);
  const { places } = await contractsAt(from, io).catch(() => ({ places: [] }));
  for (const { path } of places) await collect(resolve(io.cwd, path), found, new Set());
  return found;
}

async function collect(path: string, found: Set<string>, visited: Set<string>): Promise<void> {
  if (visited.has(path)) return;
  visited.add(path);
  for (const directory of [path, join(path, "messages"), join(path, "transcripts")]) found.add(directory);
  const folder = await read(path).catch(() => undefined);
  for (const file of Object.keys(folder?.extended?.own ?? folder?.files ?? {})) found.add(dirname(join(path, file)));
  const base = await baseOf(path);
  if (base !== undefined) await collect(base, found, visited);
}

/** The folder that a contract extends, even a broken one. */
async function baseOf(path: string): Promise<string | undefined> {
  try {
    const { extends: base } = JSON.parse(await readFile(join(path, "contract.json"), "utf8"));
    return base.startsWith(".") ? resolve(path, base) : (await openOnDisk(base, path))?.at;
  } catch {
    return undefined;
  }
}
