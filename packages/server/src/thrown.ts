/** Reads from a thrown value. Its getters, or the traps of a proxy, may throw themselves: then the answer is `otherwise`. */
export function readThrown<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
