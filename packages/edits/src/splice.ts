/** One replaced stretch of a text, by UTF-16 offsets. Lists of them are sorted and do not overlap. */
export interface Splice {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

/** Applies the splices; everything outside them stays byte for byte. */
export function spliceText(text: string, splices: readonly Splice[]): string {
  let result = "";
  let end = 0;
  for (const { from, to, insert } of splices) {
    result += text.slice(end, from) + insert;
    end = to;
  }
  return result + text.slice(end);
}
