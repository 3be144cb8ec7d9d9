/** The maximum number of sessions, streams and channels whose state is kept. */
const MOST = 10_000;

/** Adds an entry; the oldest above the limit is removed and returned. */
export function remember<K, V>(map: Map<K, V>, key: K, value: V): V | undefined {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MOST) return undefined;
  const [oldest, removed] = map.entries().next().value!;
  map.delete(oldest);
  return removed;
}
