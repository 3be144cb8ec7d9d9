import type { Entry } from "@parlance/server/resume";

/** Characters that a tail holds for a slow reader. The rest is read from Redis again. */
const HELD = 1024 * 1024;

/** The wake-ups of one tail, with the entries that they carry. */
export interface Inbox {
  /** Adds the text of a wake-up. */
  put(text: string): void;
  /** Drops the held entries, which must then be read from Redis. */
  doubt(): void;
  /** Removes and returns the entries that follow a cursor without a gap. */
  take(at: number): readonly Entry[];
  /** Whether wake-ups will carry every entry after the taken ones. */
  sure(): boolean;
  /** Set before Redis is read, so that a wake-up during the read counts. */
  setSure(sure: boolean): void;
  /** Only the entries of this epoch are held from now on. */
  expect(epoch: string): void;
  /** Whether the stream with this epoch was dropped on purpose. */
  dropped(epoch: string): boolean;
}

export function makeInbox(): Inbox {
  let entries: Entry[] = [];
  let size = 0;
  let sure = false;
  let expected: string | undefined;
  let dropped: string | undefined;

  function doubt(): void {
    entries = [];
    size = 0;
    sure = false;
  }

  return {
    put(text) {
      const wake = parseWake(text);
      if (wake?.kind === "dropped") dropped = wake.epoch;
      size += text.length;
      if (wake?.kind !== "entries" || wake.epoch !== expected || size > HELD) return doubt();
      for (const [i, text] of wake.texts.entries()) entries.push({ seq: wake.first + i, text });
    },
    doubt,
    take(at) {
      const pushed = entries.filter(({ seq }) => seq > at);
      const taken = following(pushed, at);
      entries = [];
      size = 0;
      if (taken.length < pushed.length) sure = false;
      return taken;
    },
    sure: () => sure,
    setSure(now) {
      sure = now;
    },
    expect(epoch) {
      expected = epoch;
    },
    dropped: (epoch) => dropped === epoch,
  };
}

/** The longest sequence of entries that directly follow a cursor. */
export function following(entries: readonly Entry[], at: number): readonly Entry[] {
  const gap = entries.findIndex(({ seq }, i) => seq !== at + 1 + i);
  return gap < 0 ? entries : entries.slice(0, gap);
}

interface Wake {
  readonly kind: string;
  readonly epoch: string;
  readonly first: number;
  readonly texts: readonly string[];
}

/** Parses a wake-up. Returns undefined for a text from another publisher. */
function parseWake(text: string): Wake | undefined {
  try {
    const [kind, epoch, first, ...texts] = JSON.parse(text) as string[];
    return kind === undefined || epoch === undefined ? undefined : { kind, epoch, first: Number(first), texts };
  } catch {
    return undefined;
  }
}
