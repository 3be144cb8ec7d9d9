/** Bytes of a program's standard error that are kept for the error that explains why it ended. */
const MAX_KEPT = 16 * 1024;

/** Keeps the last part of a program's standard error. */
export class StderrTail {
  #chunks: Uint8Array[] = [];
  #size = 0;

  add(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    // Joined rarely, because a program may write byte by byte.
    if (this.#size > 4 * MAX_KEPT || this.#chunks.length > 1024) this.#join();
  }

  /** The last bytes as text, from the beginning of a character on. */
  text(): string {
    const kept = this.#join();
    const start = kept.findIndex((byte) => (byte & 0xc0) !== 0x80);
    return Buffer.from(kept.subarray(Math.max(start, 0)))
      .toString()
      .trim();
  }

  #join(): Uint8Array {
    // A copy, because a part of a large chunk would keep all of it.
    const kept = Buffer.concat(this.#chunks).subarray(-MAX_KEPT);
    this.#chunks = [new Uint8Array(kept)];
    this.#size = kept.length;
    return this.#chunks[0]!;
  }
}

/** The line of a program's standard error that most likely explains why it ended. */
export function reasonIn(text: string): string | undefined {
  // The frames of a stack have names of errors too.
  const lines = text
    .split("\n")
    .filter((line) => !/^\s*at /.test(line))
    .reverse();
  return lines.find((line) => /error|exception/i.test(line)) ?? lines[0];
}
