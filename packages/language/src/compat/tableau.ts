import type { Json, Schema, SchemaObject } from "@parlance/wire";
import { KEYWORDS } from "../keywords.js";
import { arrayOf } from "./arrays.js";
import { keyOf, type Literal, unfold } from "./literal.js";
import { numberOf } from "./numbers.js";
import { objectOf } from "./objects.js";
import { type Accept, firstOf, type Outcome, type Search } from "./search.js";
import { identity, type Space, sameSchema } from "./space.js";
import { stringOf } from "./strings.js";
import { anything, bits, both, clash, factsOf, implied, refuted, traits, typeOf, valuesOf } from "./traits.js";

const MAX_STEPS = 20_000;
const MAX_NESTED = 100;

/** Searches by taking statements apart: into alternatives, and those into keywords about one type. */
export class Tableau implements Search {
  readonly #open = new Map<string, number>();
  readonly #known = new Map<string, Outcome>();
  readonly #apart = new Map<string, boolean>();
  #steps = 0;
  /** The outermost open question that an answer relies on having no value. */
  #relied = Number.POSITIVE_INFINITY;

  readonly space: Space;

  constructor(space: Space) {
    this.space = space;
  }

  find(literals: readonly Literal[], accept?: Accept): Outcome {
    if (this.#open.size === 0) this.#steps = 0;
    const unique = new Map(literals.map((one) => [keyOf(one), one]));
    const key = [...unique.keys()].sort().join();
    if (!accept && this.#known.has(key)) return this.#known.get(key)!;
    // A value that contains one of the same kind contains a smaller one, which is found without it.
    if (this.#open.has(key)) {
      this.#relied = Math.min(this.#relied, this.#open.get(key)!);
      return "none";
    }
    if (++this.#steps > MAX_STEPS || this.#open.size > MAX_NESTED) return "unclear";
    const index = this.#open.size;
    const outer = this.#relied;
    this.#relied = Number.POSITIVE_INFINITY;
    this.#open.set(key, index);
    const outcome = this.#explore([...unique.values()], accept);
    this.#open.delete(key);
    const alone = this.#relied >= index;
    if (!accept && (typeof outcome === "object" || (alone && this.#steps <= MAX_STEPS))) this.#known.set(key, outcome);
    this.#relied = Math.min(outer, alone ? Number.POSITIVE_INFINITY : this.#relied);
    return outcome;
  }

  readonly #disjoint = (one: Schema, other: Schema): boolean => {
    const key = `${identity(one)} ${identity(other)}`;
    if (!this.#apart.has(key)) {
      const reader = (schema: Schema): Literal => ({ schema, positive: true, writer: false });
      const { space } = this;
      const clashes = clash(traits(space, one), traits(space, other));
      this.#apart.set(key, clashes || this.find([reader(one), reader(other)]) === "none");
    }
    return this.#apart.get(key)!;
  };

  #explore(literals: readonly Literal[], accept?: Accept): Outcome {
    const { space } = this;
    const atoms: Literal[] = [];
    const choices: Choice[] = [];
    const queue = [...literals];
    for (;;) {
      if (contradictory(space, [...literals, ...atoms])) return "none";
      for (let one = queue.pop(); one; one = queue.pop()) {
        const alternatives = unfold(space, one, this.#disjoint);
        if (!alternatives) atoms.push(one);
        else if (alternatives.length === 1) queue.push(...alternatives[0]!);
        else choices.push({ literal: one, alternatives });
      }
      const facts = atoms.reduce((sum, atom) => both(sum, factsOf(space, atom)), anything);
      if (facts.types === 0) return "none";
      for (const choice of choices.splice(0)) {
        const left = choice.alternatives.filter((list) => !list.some((one) => refuted(space, one, facts)));
        if (left.length === 0) return "none";
        if (left.some((list) => list.every((one) => implied(space, one, facts, atoms)))) continue;
        if (left.length === 1) queue.push(...left[0]!);
        else choices.push({ ...choice, alternatives: left });
      }
      if (queue.length > 0) continue;
      return choices.length === 0 ? this.#solve(facts.types, atoms, accept) : this.#branch(atoms, choices, accept);
    }
  }

  #branch(atoms: readonly Literal[], choices: readonly Choice[], accept?: Accept): Outcome {
    const [first] = [...choices].sort((a, b) => a.alternatives.length - b.alternatives.length) as [Choice];
    const rest = [...atoms, ...choices.filter((one) => one !== first).map(({ literal }) => literal)];
    return firstOf(first.alternatives, (alternative) => this.find([...rest, ...alternative], accept));
  }

  #solve(types: number, atoms: readonly Literal[], accept: Accept = () => true): Outcome {
    const holds = (value: Json) => atoms.every((atom) => holdsFor(this.space, atom, value));
    const listed = atoms.find(({ schema, positive }) => positive && valuesOf(schema as SchemaObject));
    if (listed) {
      const fitting = valuesOf(listed.schema as SchemaObject)!.filter(holds);
      const value = fitting.find(accept);
      return value !== undefined ? { value } : fitting.length > 0 ? "unclear" : "none";
    }
    const good: Accept = (value) => holds(value) && accept(value);
    const of = (type: string) => (types & bits[type]!) !== 0;
    const kinds: (() => Outcome)[] = [];
    if (of("null")) kinds.push(() => among([null], good));
    if (of("boolean")) kinds.push(() => among([true, false], good));
    if (of("number")) kinds.push(() => numberOf(atoms, of("integer"), of("fraction"), good));
    if (of("string")) kinds.push(() => stringOf(this.space, atoms, good));
    if (of("array")) kinds.push(() => arrayOf(this, atoms, accept));
    if (of("object")) kinds.push(() => objectOf(this, atoms, accept));
    return firstOf(kinds, (kind) => kind());
  }
}

interface Choice {
  readonly literal: Literal;
  readonly alternatives: Literal[][];
}

function among(values: readonly Json[], good: Accept): Outcome {
  const value = values.find(good);
  return value === undefined ? "none" : { value };
}

/** Whether a schema holds and does not hold. */
function contradictory(space: Space, literals: readonly Literal[]): boolean {
  const positive = literals.filter((one) => one.positive);
  return literals.some((one) => !one.positive && positive.some(({ schema }) => sameSchema(space, schema, one.schema)));
}

function holdsFor(space: Space, { schema, positive }: Literal, value: Json): boolean {
  const row = Object.keys(schema as object).map((key) => KEYWORDS[key]!.about)[0];
  // A keyword about another type holds, and its contrary doesn't.
  if (row !== undefined && (typeOf(value) & bits[row]!) === 0) return positive;
  return space.valid(schema, value) === positive;
}
