// SHA-256 (FIPS 180-4). The one of `crypto.subtle` is asynchronous, and the one of Node is not in every runtime.

const K = new Int32Array(64);
const START = new Int32Array(8);

/** The first 32 bits of the fraction of a number. */
function fraction(number: number): number {
  return ((number - Math.floor(number)) * 2 ** 32) | 0;
}

for (let candidate = 2, found = 0; found < 64; candidate++) {
  let isPrime = true;
  for (let divisor = 2; divisor * divisor <= candidate; divisor++) if (candidate % divisor === 0) isPrime = false;
  if (!isPrime) continue;
  if (found < 8) START[found] = fraction(Math.sqrt(candidate));
  K[found++] = fraction(Math.cbrt(candidate));
}

const encoder = new TextEncoder();
/** The words of one block and their expansion. Shared, because a digest is made in one step. */
const words = new Int32Array(64);

/** Names a secret or a principal: the first 128 bits of the SHA-256 of a text, in hexadecimal. */
export function digest(text: string): string {
  const bytes = encoder.encode(text);
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, bytes.length << 3);
  const state = START.slice();
  for (let at = 0; at < padded.length; at += 64) compress(state, view, at);
  return Array.from(state.subarray(0, 4), (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

/** Takes one block of 64 bytes into the state. Written out, because arrays in place of the variables take three times as long. */
function compress(state: Int32Array, view: DataView, at: number): void {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const early = words[i - 15]!;
    const late = words[i - 2]!;
    const first = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const second = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    words[i] = words[i - 16]! + first + words[i - 7]! + second;
  }
  let a = state[0]!;
  let b = state[1]!;
  let c = state[2]!;
  let d = state[3]!;
  let e = state[4]!;
  let f = state[5]!;
  let g = state[6]!;
  let h = state[7]!;
  for (let i = 0; i < 64; i++) {
    const mixed = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + K[i]! + words[i]!) | 0;
    const added = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + mixed) | 0;
    d = c;
    c = b;
    b = a;
    a = (mixed + added) | 0;
  }
  state[0]! += a;
  state[1]! += b;
  state[2]! += c;
  state[3]! += d;
  state[4]! += e;
  state[5]! += f;
  state[6]! += g;
  state[7]! += h;
}

/** Rotates to the right. */
function turn(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}
