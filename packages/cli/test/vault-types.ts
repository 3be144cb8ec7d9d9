import type { Bytes, Call, CallOptions, MessageStream } from "@parlance/wire";

/** The types that the guide's contract has once they are generated. */
interface RenameInput {
  name: string;
  "Idempotency-Key": string;
  tenant?: string;
  to: string;
}
type Word = { type: "word"; text: string } | { type: "error"; error: string };
export type Read = ReadableStream<Uint8Array>;
export interface Vault {
  upload(
    input: { name: string },
    options: CallOptions & { body: Bytes },
  ): Promise<{ headers: { Location: string; "X-Size"?: number } }>;
  download(input: { name: string }, options?: CallOptions): Promise<{ headers: { ETag?: string }; body: Read }>;
  describe(input: { name: string }, options?: CallOptions): MessageStream<Word>;
  rename(input: RenameInput, options?: CallOptions): Promise<void>;
}
export interface VaultHandlers {
  upload(
    input: { name: string },
    body: Read,
    call: Call,
  ): Promise<{ headers: { Location: string; "X-Size"?: number } }>;
  download(input: { name: string }, call: Call): { headers: { ETag?: string }; body: Bytes };
  describe(input: { name: string }): AsyncIterable<Word>;
  rename(input: RenameInput, call: Call): void | Promise<void>;
}
