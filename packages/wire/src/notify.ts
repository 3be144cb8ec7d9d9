/** Calls a user's callback without a result. Passes its error or rejection to `fail` only. */
export function notify<T>(
  callback: ((value: T) => unknown) | undefined,
  value: T,
  fail: (error: unknown) => void,
): void {
  try {
    // An async callback that rejects would end a Node process.
    (callback?.(value) as Partial<Promise<unknown>> | undefined)?.then?.(undefined, fail);
  } catch (error) {
    fail(error);
  }
}
