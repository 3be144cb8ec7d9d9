/** The three forms that a date of HTTP has (RFC 9110, section 5.6.7). `Date.parse` takes nearly any text: `1.5` is a day in January to it. */
const DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun).* \d\d:\d\d:\d\d /;

/** Reads either form of `Retry-After` (RFC 9110, section 10.2.3) in seconds. Returns undefined for other texts, and 0 for a past date. */
export function parseRetryAfter(text: string | null | undefined): number | undefined {
  if (!text) return undefined;
  // Some servers write fractions, which the RFC does not allow.
  if (/^\d{1,15}(\.\d+)?$/.test(text)) return Number(text);
  if (!DATE.test(text)) return undefined;
  // The form that ends in the year has no time zone.
  const date = Date.parse(text.replace(/ \d{4}$/, "$& GMT"));
  return Number.isNaN(date) ? undefined : Math.max(0, (date - Date.now()) / 1000);
}
