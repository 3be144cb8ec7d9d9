/** What a stream or channel that is joined again may take to answer, in milliseconds: one that is silent for longer is asked anew. */
export const ANSWER_WITHIN = 30_000;

/** Runs one attempt with a signal of its own; rejects when it is not done within so many milliseconds, whatever it makes of the signal. */
export function within<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), milliseconds);
  const over = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
  return new Promise<T>((resolve, reject) => {
    over.onabort = () => reject(over.reason);
    run(over).then(resolve, reject);
  }).finally(() => clearTimeout(timer));
}

/** Resolves after so many milliseconds; rejects with the signal's reason when it aborts first. */
export function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
