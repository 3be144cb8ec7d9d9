import type { SchemaObject } from "@parlance/wire";
import type { Literal } from "./literal.js";
import type { Accept, Outcome } from "./search.js";

/** Multiples that are tried where there are more. */
const TRIED = 60;
/** Up to so many multiples are all tried, which is a proof. */
const ALL = 2000;

/** A number that fits keywords about numbers, among integers, fractions or both. */
export function numberOf(atoms: readonly Literal[], integers: boolean, fractions: boolean, good: Accept): Outcome {
  const { low, high, steps, without } = boundsOf(atoms);
  if (low.at > high.at || (low.at === high.at && (low.open || high.open))) return "none";
  if (low.at === high.at) return good(low.at) ? { value: low.at } : "none";
  const step = multipleOf(integers && !fractions ? [...steps, 1] : steps);
  if (step === undefined) {
    const value = guesses(low.at, high.at, without).find(good);
    return value === undefined ? "unclear" : { value };
  }
  // Every multiple of a whole number is an integer, and every multiple of a multiple one of its divisor.
  const first = Math.ceil(low.at / step);
  const last = Math.floor(high.at / step);
  const known = Number.isSafeInteger(last - first);
  if (known && last < first) return "none";
  const all = known && last - first <= ALL;
  for (const index of all ? range(first, last) : near(first, last)) {
    // `step * index` has the error of a product, which division by a power of ten has not.
    for (const value of [step * index, Number((step * index).toPrecision(15))]) if (good(value)) return { value };
  }
  if (all) return "none";
  const never = without.some((one) => Number.isInteger(step / one)) || (!integers && Number.isInteger(step));
  return never ? "none" : "unclear";
}

interface End {
  readonly at: number;
  readonly open: boolean;
}

function boundsOf(atoms: readonly Literal[]) {
  let low: End = { at: Number.NEGATIVE_INFINITY, open: false };
  let high: End = { at: Number.POSITIVE_INFINITY, open: false };
  const steps: number[] = [];
  const without: number[] = [];
  for (const { schema, positive } of atoms) {
    const [[keyword, value]] = Object.entries(schema as SchemaObject) as [[string, number]];
    const open = keyword.startsWith("exclusive") === positive;
    const floor = keyword.endsWith("inimum");
    if (keyword === "multipleOf") (positive ? steps : without).push(value);
    else if (!floor && !keyword.endsWith("aximum")) continue;
    // What does not reach a floor is below it.
    else if (floor === positive) {
      if (value > low.at || (value === low.at && open)) low = { at: value, open };
    } else if (value < high.at || (value === high.at && open)) high = { at: value, open };
  }
  return { low, high, steps, without };
}

/** The least number of which all multiples are multiples of each of these; undefined for none, or where it isn't exact. */
function multipleOf(steps: readonly number[]): number | undefined {
  if (steps.length === 0) return undefined;
  const scale = 10 ** Math.max(...steps.map((step) => (String(step).split(".")[1] ?? "").length));
  const whole = steps.map((step) => Math.round(step * scale));
  const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));
  const product = whole.reduce((a, b) => (a / divisor(a, b)) * b);
  return Number.isSafeInteger(product) && steps.every((step) => !String(step).includes("e"))
    ? product / scale
    : undefined;
}

function* range(first: number, last: number): Generator<number> {
  for (let at = first; at <= last; at++) yield at;
}

/** Whole numbers of a large range, or of one without an end: the first, those about zero, the last. */
function near(first: number, last: number): number[] {
  const about = (middle: number) => [...range(middle - TRIED, middle + TRIED)];
  const sides = [first, last].filter(Number.isFinite).flatMap(about);
  return [...about(0), ...sides].sort((a, b) => Math.abs(a) - Math.abs(b)).filter((one) => one >= first && one <= last);
}

function guesses(low: number, high: number, without: readonly number[]): number[] {
  const from = Number.isFinite(low) ? low : Number.isFinite(high) ? high - 1000 : 0;
  const to = Number.isFinite(high) ? high : from + 1000;
  const inside = [0.5, 0.25, 0.1, 0.37].map((share) => from + (to - from) * share);
  const steps = [1, 0.5, 0.25, ...without.flatMap((one) => [one / 2, one * 1.5])];
  const beside = [0, low, high]
    .filter(Number.isFinite)
    .flatMap((at) => [at, ...steps.flatMap((by) => [at + by, at - by])]);
  return [...beside, ...range(-20, 20), ...inside, ...inside.map(Math.floor)];
}
