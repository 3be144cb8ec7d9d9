import { roundCents } from "./money.js";

export interface Item {
  name: string;
  price: number;
  count: number;
}

/** The sum of all items, before tax. */
export function calcTotal(items: Item[]): number {
  let total = 0;
  for (const item of items) {
    total += item.price * item.count;
  }
  return roundCents(total);
}

export function isEmpty(items: Item[]): boolean {
  return items.length === 0;
}
