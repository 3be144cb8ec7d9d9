/** A time as tools write it behind a name. */
const TIME = / \d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.\d]*(?: ?[-+]\d\d:?\d\d|Z)?$/;

/** Where a name ends: at its first tab, as for git, or before a time, since some programs write a blank for the tab. */
export function tabOf(text: string): number {
  const tab = text.indexOf("\t");
  const end = tab < 0 ? text.search(TIME) : tab;
  return tab < 0 && end === 0 ? -1 : end;
}
