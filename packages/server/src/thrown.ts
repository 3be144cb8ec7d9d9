/** Reads from a thrown value. Returns `otherwise` where a getter or proxy trap throws. */
export function readThrown<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
