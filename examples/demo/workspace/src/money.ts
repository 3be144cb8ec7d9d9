/** Half a cent goes up. */
export function roundCents(amount: number): number {
  return Math.round(amount * 100) / 100;
}

export function format(amount: number, currency = "EUR"): string {
  return `${roundCents(amount).toFixed(2)} ${currency}`;
}
