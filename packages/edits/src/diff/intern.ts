import type { Source } from "./source.js";

export interface Interned {
  /** One number for each line; equal lines have equal numbers, below `size`. */
  readonly left: Int32Array;
  readonly right: Int32Array;
  readonly size: number;
}

/** Numbers the lines by two 32-bit hashes of each, so lines found equal must be compared. */
export function internByHash(a: Source, b: Source, start: number, aEnd: number, bEnd: number): Interned {
  const total = aEnd + bEnd - 2 * start;
  const mask = (2 << (32 - Math.clz32(total))) - 1;
  const slots = new Int32Array(mask + 1);
  const keys = new Int32Array(2 * total + 2);
  let size = 0;
  const intern = (source: Source, to: number): Int32Array => {
    const numbers = new Int32Array(to - start);
    const hashes = hashLines(source, start, to);
    for (let line = 0; line < numbers.length; line++) {
      const first = hashes[2 * line]!;
      const second = hashes[2 * line + 1]!;
      let slot = (first ^ (first >>> 15) ^ second) & mask;
      let number = slots[slot]!;
      while (number > 0 && (keys[2 * number - 2] !== first || keys[2 * number - 1] !== second)) {
        slot = (slot + 1) & mask;
        number = slots[slot]!;
      }
      if (number === 0) {
        keys[2 * size] = first;
        keys[2 * size + 1] = second;
        slots[slot] = number = ++size;
      }
      numbers[line] = number - 1;
    }
    return numbers;
  };
  return { left: intern(a, aEnd), right: intern(b, bEnd), size };
}

/** Two hashes for each line. The multipliers are random per process, so collisions cannot be prepared. */
function hashLines({ text, starts }: Source, start: number, end: number): Int32Array {
  const from = starts[start]!;
  const codes = readCodes(text.slice(from, starts[end]));
  const hashes = new Int32Array(2 * (end - start));
  const multiplier = MULTIPLIERS[0]!;
  const another = MULTIPLIERS[1]!;
  let i = 0;
  for (let line = start; line < end; line++) {
    const stop = starts[line + 1]! - from;
    let first = 0;
    let second = 0;
    for (; i < stop; i++) {
      const code = codes[i]!;
      first = (Math.imul(first, multiplier) + code) | 0;
      second = (Math.imul(second ^ code, another) + 1) | 0;
    }
    hashes[2 * (line - start)] = first;
    hashes[2 * (line - start) + 1] = second;
  }
  return hashes;
}

const MULTIPLIERS = /* @__PURE__ */ drawMultipliers();

function drawMultipliers(): Int32Array {
  return Int32Array.of((Math.random() * 0x100000000) | 1, (Math.random() * 0x100000000) | 1);
}

function readCodes(text: string): Uint8Array | Uint16Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length === text.length) return bytes;
  const codes = new Uint16Array(text.length);
  for (let i = 0; i < codes.length; i++) codes[i] = text.charCodeAt(i);
  return codes;
}
