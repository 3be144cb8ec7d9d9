/** Cancels the body of an unused answer. */
export function discard(response: Response): void {
  response.body?.cancel().catch(() => {});
}

/** Reads either form of `Retry-After` (RFC 9110, section 10.2.3) in seconds. Returns undefined for other texts, and 0 for a past date. */
export function parseRetryAfter(header: string | null | undefined): number | undefined {
  const text = header ?? "";
  // Some servers write fractions, which the RFC does not allow.
  if (/^\d{1,15}(\.\d+)?$/.test(text)) return +text;
  // `Date.parse` takes nearly any text: `1.5` is a day in January to it. The form that ends in the year has no time zone.
  const date = /^[A-Z].*:\d\d /.test(text) && Date.parse(text.replace(/ \d+$/, "$& GMT"));
  return date ? Math.max(0, (date - Date.now()) / 1000) : undefined;
}
