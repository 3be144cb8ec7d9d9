/** A number, or a range from which each stream draws its own. */
export type Drawn = number | readonly [from: number, to: number];

/** Numbers that are the same for the same seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number below a limit. */
  below(limit: number): number {
    // Marsaglia's xorshift over a Weyl sequence: small, and even enough for tests.
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed ^= mixed << 13;
    mixed ^= mixed >>> 17;
    mixed = Math.imul(mixed, 0x85ebca6b);
    mixed ^= mixed >>> 16;
    return (mixed >>> 0) % limit;
  }

  draw(drawn: Drawn): number;
  draw(drawn: Drawn | undefined): number | undefined;
  draw(drawn: Drawn | undefined): number | undefined {
    if (drawn === undefined || typeof drawn === "number") return drawn;
    const [from, to] = drawn;
    return from + this.below(to - from + 1);
  }
}
