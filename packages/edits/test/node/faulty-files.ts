import { constants } from "node:fs";
import * as fs from "node:fs/promises";
import type { Files, OpenFile } from "../../src/node/files.js";

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
  /** What each call does to the disk: it reads, changes something, or writes bytes that may get down in part. */
  readonly calls: readonly Effect[];
}

export type Effect = "reads" | "changes" | "writes";

class Crash extends Error {
  readonly code = "ECRASH";
}

/** The real file system until call number `at`, counted from 1. */
export function faultyFiles(at: number, fault: Fault): FaultyFiles {
  const calls: Effect[] = [];
  let crashed = false;
  const call = async <T>(effect: Effect, run: () => Promise<T>, half?: () => Promise<unknown>): Promise<T> => {
    if (crashed) throw new Crash("The process is gone.");
    if (calls.push(effect) !== at) return run();
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
    stat: () => call("reads", () => handle.stat()),
    readFile: () => call("reads", () => handle.readFile()),
    writeFile: (bytes) =>
      call(
        "writes",
        () => handle.writeFile(bytes),
        () => handle.writeFile(bytes.subarray(0, bytes.length >> 1)),
      ),
    chown: (uid, gid) => call("changes", () => handle.chown(uid, gid)),
    chmod: (mode) => call("changes", () => handle.chmod(mode)),
    // A process that ends leaves what it has written to the system, which is all that a test sees.
    sync: () => call("reads", () => handle.sync()),
    // A process that ends closes its files.
    close: () => call("reads", () => handle.close()).catch((error) => handle.close().then(() => Promise.reject(error))),
  });
  return {
    count: () => calls.length,
    calls,
    open: (path, flags, mode) => {
      let handle: fs.FileHandle | undefined;
      const effect = flags & (constants.O_CREAT | constants.O_TRUNC) ? "changes" : "reads";
      return call(effect, async () => {
        handle = await fs.open(path, flags, mode);
        return wrap(handle);
      }).catch((error) => (handle ? handle.close().then(() => Promise.reject(error)) : Promise.reject(error)));
    },
    lstat: (path) => call("reads", () => fs.lstat(path)),
    link: (from, to) => call("changes", () => fs.link(from, to)),
    rename: (from, to) => call("changes", () => fs.rename(from, to)),
    unlink: (path) => call("changes", () => fs.unlink(path)),
    mkdir: (path, options) => call("changes", () => fs.mkdir(path, options)),
    rmdir: (path) => call("changes", () => fs.rmdir(path)),
    readdir: (path) => call("reads", () => fs.readdir(path)),
    realpath: (path) => call("reads", () => fs.realpath(path)),
  };
}

/** A file system without hard links, as FAT is. */
export function withoutLinks(files: Files): Files {
  return { ...files, link: () => Promise.reject(Object.assign(new Error("EPERM: no links, test"), { code: "EPERM" })) };
}
