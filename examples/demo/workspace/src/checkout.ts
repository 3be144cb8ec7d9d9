import { calcTotal, type Item, isEmpty } from "./cart.js";
import { format } from "./money.js";

const TAX = 0.19;

export function checkout(items: Item[]): string {
  if (isEmpty(items)) {
    return "nothing to pay";
  }
  const net = calcTotal(items);
  return format(net * (1 + TAX));
}

export function preview(items: Item[]): string {
  // The preview leaves tax out, so it may differ from calcTotal plus tax.
  return format(calcTotal(items));
}
