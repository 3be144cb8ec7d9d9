/** One replaced stretch of a text, by UTF-16 offsets. Lists of them are sorted and do not overlap. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** Everything outside the splices is taken over as it is, byte for byte. */
export function spliceText(text: string, splices: readonly Splice[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const { from, to, insert } of splices) {
    parts.push(text.slice(end, from), insert);
    end = to;
  }
  parts.push(text.slice(end));
  return parts.join("");
}
