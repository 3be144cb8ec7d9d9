/** Milliseconds for which a session is heard of after its last reader: a decision may come late. */
const LINGER = 60_000;

/** The sessions that a server has a part in, and hears of from others. */
export interface Following {
  follow(key: string): Promise<unknown>;
  /** Not any more, in a while. */
  unfollow(key: string): void;
  /** Somebody has a part in it again. */
  stay(key: string): void;
  /** Settles when the session is followed; undefined where it is not. */
  get(key: string): Promise<unknown> | undefined;
  keys(): Iterable<string>;
  close(): void;
}

/** `listen` hears what is said of a session; `onFollowed` is told once it is heard. */
export function following(listen: (key: string) => Promise<() => void>, onFollowed: (key: string) => void): Following {
  const followed = new Map<string, Promise<() => void>>();
  const leaving = new Map<string, ReturnType<typeof setTimeout>>();

  function stay(key: string): void {
    clearTimeout(leaving.get(key));
    leaving.delete(key);
  }

  function leave(key: string): void {
    stay(key);
    followed.get(key)?.then(
      (leave) => leave(),
      () => {},
    );
    followed.delete(key);
  }

  return {
    stay,
    follow(key) {
      stay(key);
      const known = followed.get(key);
      if (known) return known;
      const listening = listen(key);
      followed.set(key, listening);
      listening.then(
        () => followed.get(key) === listening && onFollowed(key),
        // The next one who has to do with the session tries again.
        () => followed.get(key) === listening && followed.delete(key),
      );
      return listening;
    },
    unfollow(key) {
      stay(key);
      const timer = setTimeout(leave, LINGER, key);
      (timer as { unref?: () => void }).unref?.();
      leaving.set(key, timer);
    },
    get: (key) => followed.get(key),
    keys: () => followed.keys(),
    close() {
      for (const key of [...followed.keys()]) leave(key);
    },
  };
}
