/**
 * A text with the places of its lines, for comparing: lines are told apart as numbers in a flat array, without a string
 * for each of them. A line includes its line feed, so that a last line without one differs from the same line with one.
 */
export interface Source {
  readonly text: string;
  /** The text's code units; as bytes where all of them are ASCII, which is twice as fast to read. */
  readonly codes: Uint8Array | Uint16Array;
  /** Where each line starts; one more element says where the last one ends. */
  readonly starts: Int32Array;
  readonly length: number;
}

export function readSource(text: string): Source {
  const codes = readCodes(text);
  let starts = new Int32Array(16 + (codes.length >> 4));
  let length = 0;
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] !== 10 && i !== codes.length - 1) continue;
    if (++length === starts.length) {
      const wider = new Int32Array(2 * starts.length);
      wider.set(starts);
      starts = wider;
    }
    starts[length] = i + 1;
  }
  return { text, codes, starts: starts.subarray(0, length + 1), length };
}

/** The line without its line feed. */
export function lineAt({ text, codes, starts }: Source, at: number): string {
  const end = starts[at + 1]!;
  return text.slice(starts[at], codes[end - 1] === 10 ? end - 1 : end);
}

export function endsInNewline({ codes }: Source): boolean {
  return codes.length === 0 || codes[codes.length - 1] === 10;
}

export function isSameLine(a: Source, i: number, b: Source, j: number): boolean {
  const from = a.starts[i]!;
  const other = b.starts[j]!;
  const length = a.starts[i + 1]! - from;
  if (b.starts[j + 1]! - other !== length) return false;
  for (let k = 0; k < length; k++) if (a.codes[from + k] !== b.codes[other + k]) return false;
  return true;
}

/** How many lines the two have in common at their start, and behind that at their end. */
export function commonEnds(a: Source, b: Source): { start: number; end: number } {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && isSameLine(a, start, b, start)) start++;
  let end = 0;
  while (end < shorter - start && isSameLine(a, a.length - 1 - end, b, b.length - 1 - end)) end++;
  return { start, end };
}

/** Numbers for lines `start` to `aEnd` and `bEnd`: equal numbers for equal lines, below `size`. */
export function internLines(a: Source, b: Source, start: number, aEnd: number, bEnd: number) {
  const total = aEnd + bEnd - 2 * start;
  const slots = new Int32Array(2 << (32 - Math.clz32(total))).fill(-1);
  // The number of a line is where it came first, as an index into both texts' lines one behind the other; made dense below.
  const hashes = new Int32Array(total);
  const sources = [a, b] as const;
  const firsts = new Int32Array(total);
  let size = 0;
  const intern = (side: 0 | 1, to: number, offset: number): Int32Array => {
    const source = sources[side];
    const numbers = new Int32Array(to - start);
    for (let i = start; i < to; i++) {
      const hash = hashLine(source, i);
      let slot = hash & (slots.length - 1);
      for (;;) {
        const number = slots[slot]!;
        if (number < 0) {
          slots[slot] = size;
          hashes[size] = hash;
          firsts[size] = offset + i - start;
          numbers[i - start] = size++;
          break;
        }
        if (hashes[number] === hash) {
          const first = firsts[number]!;
          const inA = first < aEnd - start;
          if (isSameLine(source, i, inA ? a : b, inA ? first + start : first - (aEnd - start) + start)) {
            numbers[i - start] = number;
            break;
          }
        }
        slot = (slot + 1) & (slots.length - 1);
      }
    }
    return numbers;
  };
  const left = intern(0, aEnd, 0);
  const right = intern(1, bEnd, aEnd - start);
  return { left, right, size };
}

/** Chosen anew in every process, so that nobody can write a file whose lines all have one hash. */
const MULTIPLIER = (Math.floor(Math.random() * 0x40000000) * 4 + 0x9e3779b5) | 1;

function hashLine({ codes, starts }: Source, at: number): number {
  const end = starts[at + 1]!;
  let hash = 0;
  for (let i = starts[at]!; i < end; i++) hash = (Math.imul(hash, MULTIPLIER) + codes[i]!) | 0;
  hash ^= hash >>> 16;
  return Math.imul(hash, 0x45d9f3b) ^ (hash >>> 13);
}

function readCodes(text: string): Uint8Array | Uint16Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length === text.length) return bytes;
  const codes = new Uint16Array(text.length);
  for (let i = 0; i < codes.length; i++) codes[i] = text.charCodeAt(i);
  return codes;
}
