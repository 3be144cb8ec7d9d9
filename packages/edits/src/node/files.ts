import { createHash } from "node:crypto";
import { constants, type Stats } from "node:fs";
import * as fs from "node:fs/promises";

/** The file-system calls used to apply edits, and no others: tests use a port that fails, or ends the process, at the n-th. */
export interface Files {
  open(path: string, flags: number, mode?: number): Promise<OpenFile>;
  lstat(path: string): Promise<Stats>;
  link(from: string, to: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  mkdir(path: string, options?: { recursive: boolean; mode: number }): Promise<unknown>;
  rmdir(path: string): Promise<void>;
  readdir(path: string): Promise<string[]>;
  realpath(path: string): Promise<string>;
}

export interface OpenFile {
  readonly fd: number;
  stat(): Promise<Stats>;
  readFile(): Promise<Uint8Array>;
  writeFile(bytes: Uint8Array): Promise<void>;
  chown(uid: number, gid: number): Promise<void>;
  chmod(mode: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export const nodeFiles: Files = fs;

// Windows has neither flag; there only the real-path checks of `root.ts` apply.
const NOFOLLOW = constants.O_NOFOLLOW ?? 0;
export const OPEN_DIRECTORY = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | NOFOLLOW;
/** Non-blocking, so a pipe put in a file's place cannot hang the process. */
export const OPEN_FILE = constants.O_RDONLY | NOFOLLOW | (constants.O_NONBLOCK ?? 0);
export const CREATE_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | NOFOLLOW;

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error ? String(error.code) : undefined;
}

export async function orMissing<T>(call: Promise<T>): Promise<T | null> {
  try {
    return await call;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

/** The protocols' `content_hash`: `sha256:` and 64 lower-case hex digits, over the bytes as they are in the file. */
export function contentHash(bytes: Uint8Array | string): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Text of valid UTF-8, its byte order mark kept as U+FEFF; null when the bytes are anything else. */
export function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** The inverse of `decodeText`; null for a lone surrogate, which UTF-8 cannot represent and an encoder would replace. */
export function encodeText(text: string): Uint8Array | null {
  return /\p{Surrogate}/u.test(text) ? null : new TextEncoder().encode(text);
}
