import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename, dirname, relative, resolve } from "node:path";
import { type Header, loadRecording, read } from "@parlance/recordings";
import { contractAt, type Loaded } from "./contract.js";
import { isDirectory } from "./folders.js";
import { type Io, UsageError } from "./io.js";

/** The result of reading a recording: its end, or the reason why it is not complete. */
export type Ending = Awaited<ReturnType<typeof read>>;
type ReadOptions = Parameters<typeof read>[1];

/** A recording on the disk, or a transcript of a contract. */
export interface OpenRecording {
  readonly name: string;
  /** The contract that was named, or that a transcript belongs to. */
  readonly loaded: Loaded | undefined;
  /** Undefined for a transcript, and for a file that is no recording. */
  readonly header: Header | undefined;
  /** Reads it to its end, with its hash. */
  read(options: Pick<ReadOptions, "onHeader" | "onEntry">, chunks?: (path: string) => Chunks): Promise<Ending>;
  conversation(): ReturnType<typeof loadRecording>;
}

type Chunks = AsyncIterable<Uint8Array>;

/** The option of every command that takes a recording. */
export const contractHelp = "the contract, or a folder that has it; a transcript in a contract's own folder needs none";

/** Opens the only file among a command's words. `schemas` takes the contract from ./schemas where none is named. */
export async function recordingAt(
  words: readonly string[],
  io: Io,
  folder: string | undefined,
  { schemas = false } = {},
): Promise<OpenRecording> {
  const [name, ...more] = words;
  if (name === undefined || more.length > 0) throw new UsageError("name one recording");
  const path = resolve(io.cwd, name);
  const { header, transcript } = await beginningOf(path);
  const own = transcript && basename(dirname(path)) === "transcripts" ? dirname(dirname(path)) : undefined;
  const near = schemas && header?.contract && (await isDirectory(resolve(io.cwd, "schemas"))) ? "schemas" : undefined;
  const at = folder ?? (own === undefined ? near : relative(io.cwd, own) || ".");
  const loaded = at === undefined ? undefined : await contractAt(at, io, header?.contract?.name);
  if (transcript && !loaded) throw new UsageError(`${name} is a transcript: name its contract with --contract DIR`);
  const options = () => ({ hash: createHash("sha256"), contract: loaded?.contract });
  return {
    name,
    loaded,
    header,
    read: (on, chunks = (file) => createReadStream(file, { highWaterMark: 1 << 20 })) =>
      read(chunks(path), { ...on, ...options() }),
    conversation: () =>
      loadRecording((start) => createReadStream(path, { start }), options()).catch((error) => {
        if (error instanceof TypeError) throw new UsageError(`${name}: ${error.message}`);
        throw error;
      }),
  };
}

/** A file's state in words. */
export function describeState({ state, reason }: Ending): string {
  return reason === undefined ? state : `${state} (${reason})`;
}

/** The first line alone: it names the contract by which the rest is read. */
export async function beginningOf(path: string): Promise<{ header: Header | undefined; transcript: boolean }> {
  let header: Header | undefined;
  const stream = createReadStream(path);
  const first = async function* () {
    for await (const chunk of stream) {
      yield chunk as Uint8Array;
      if (header) return;
    }
  };
  const { transcript = false } = await read(first(), {
    onHeader: (one) => {
      header = one;
    },
    onEntry() {},
  }).catch((error) => {
    // Reading a folder says not which.
    throw "syscall" in error ? Object.assign(error, { path }) : error;
  });
  stream.destroy();
  return { header, transcript };
}
