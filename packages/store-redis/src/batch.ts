/** Maximum entries of one batch. */
const ENTRIES = 1000;
/** Characters of a batch after which the next one begins. */
const SIZE = 1024 * 1024;

/** Entries sent to Redis in one call. */
export interface Batch {
  readonly first: number;
  readonly texts: string[];
  /** The batch is in flight and accepts no more entries. */
  sent: boolean;
  readonly done: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
  /** Adds the next entry. Returns false when the batch is full or in flight. */
  take(text: string): boolean;
}

export function makeBatch(first: number, text: string): Batch {
  let size = text.length;
  let settle: { resolve(): void; reject(error: unknown): void } | undefined;
  const done = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  const batch: Batch = {
    first,
    texts: [text],
    sent: false,
    done,
    resolve: settle!.resolve,
    reject: settle!.reject,
    take(text) {
      if (batch.sent || batch.texts.length >= ENTRIES || size >= SIZE) return false;
      batch.texts.push(text);
      size += text.length;
      return true;
    },
  };
  return batch;
}
