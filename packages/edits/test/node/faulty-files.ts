import * as fs from "node:fs/promises";
import type { Files, OpenFile } from "@parlance/edits/node";

/**
 * What goes wrong at the n-th call of the file system:
 * - `crash-before`, `crash-after`: the process ends before the call, or right after it took effect; no later call does.
 * - `crash-within`: a write gets half of its bytes down, and then the process ends.
 * - `hang-after`: the call takes effect, the process says so on its output and waits to be killed.
 * - `error-before`, `error-after`: the call fails with EIO, once, without or with its effect.
 */
export type Fault = "hang-after" | "crash-before" | "crash-after" | "crash-within" | "error-before" | "error-after";

export interface FaultyFiles extends Files {
  /** Calls seen so far. */
  count(): number;
}

class Crash extends Error {
  readonly code = "ECRASH";
}

/** The real file system until call number `at`, counted from 1. */
export function faultyFiles(at: number, fault: Fault): FaultyFiles {
  let count = 0;
  let crashed = false;
  const call = async <T>(run: () => Promise<T>, half?: () => Promise<unknown>): Promise<T> => {
    if (crashed) throw new Crash("The process is gone.");
    if (++count !== at) return run();
    if (fault.startsWith("crash")) crashed = true;
    if (fault === "crash-within") await half?.();
    if (fault.endsWith("after")) await run().catch(() => {});
    if (fault === "hang-after") {
      process.stdout.write("here\n");
      await new Promise((_, reject) => setTimeout(reject, 600_000));
    }
    throw fault.startsWith("crash")
      ? new Crash("The process is gone.")
      : Object.assign(new Error("EIO: i/o error, test"), { code: "EIO" });
  };
  const wrap = (handle: fs.FileHandle): OpenFile => ({
    fd: handle.fd,
    stat: () => call(() => handle.stat()),
    readFile: () => call(() => handle.readFile()),
    writeFile: (bytes) =>
      call(
        () => handle.writeFile(bytes),
        () => handle.writeFile(bytes.subarray(0, bytes.length >> 1)),
      ),
    chown: (uid, gid) => call(() => handle.chown(uid, gid)),
    chmod: (mode) => call(() => handle.chmod(mode)),
    sync: () => call(() => handle.sync()),
    // A process that ends closes its files.
    close: () => call(() => handle.close()).catch((error) => handle.close().then(() => Promise.reject(error))),
  });
  return {
    count: () => count,
    open: (path, flags, mode) => {
      let handle: fs.FileHandle | undefined;
      return call(async () => {
        handle = await fs.open(path, flags, mode);
        return wrap(handle);
      }).catch((error) => (handle ? handle.close().then(() => Promise.reject(error)) : Promise.reject(error)));
    },
    lstat: (path) => call(() => fs.lstat(path)),
    link: (from, to) => call(() => fs.link(from, to)),
    rename: (from, to) => call(() => fs.rename(from, to)),
    unlink: (path) => call(() => fs.unlink(path)),
    mkdir: (path) => call(() => fs.mkdir(path)),
    rmdir: (path) => call(() => fs.rmdir(path)),
    readdir: (path) => call(() => fs.readdir(path)),
    realpath: (path) => call(() => fs.realpath(path)),
  };
}

/** A file system without hard links, as FAT is. */
export function withoutLinks(files: Files): Files {
  return { ...files, link: () => Promise.reject(Object.assign(new Error("EPERM: no links, test"), { code: "EPERM" })) };
}
