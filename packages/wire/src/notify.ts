/** Calls a user's callback that answers nothing. What it throws or rejects with goes to `fail`, and nowhere else. */
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
