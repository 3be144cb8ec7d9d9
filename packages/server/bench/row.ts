/** One figure of a bench, which `pnpm bench` prints in the table of its topic and compares with the committed one. */
export interface Row {
  readonly topic: string;
  readonly name: string;
  readonly value: number;
  /** Such as "ms" or "kB"; a ratio has none. */
  readonly unit?: string;
  /** Whether less is better: times, sizes and costs. @default false */
  readonly less?: boolean;
  readonly aim?: number;
}

/** Hands a figure to `pnpm bench`. A program that runs alone has only what it prints itself. */
export function row(figure: Row): void {
  process.send?.({ row: figure });
}
