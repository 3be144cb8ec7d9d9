/** Text that tools write behind a name and its tab: nothing, a date, a time, or a Subversion revision. */
const STAMP = /^\s*(?:$|\(|\d{4}-|[A-Z][a-z]{2},? |\d+[:/.]\d)/;

const TIME = / \d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.\d]*(?: ?[-+]\d\d:?\d\d|Z)?$/;

/** A tab ends a name if a stamp is behind it; some programs write a blank where the tab should be. */
export function tabOf(text: string): number {
  let tab = text.indexOf("\t");
  while (tab >= 0 && !STAMP.test(text.slice(tab + 1, tab + 80))) tab = text.indexOf("\t", tab + 1);
  const end = tab < 0 ? text.search(TIME) : tab;
  return tab < 0 && end === 0 ? -1 : end;
}
