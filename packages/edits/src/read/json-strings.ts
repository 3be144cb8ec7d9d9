type TakePiece = (piece: string, isEnd: boolean) => void;

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const MAX_KEY = 64;
/** Deeper values are no call. */
const MAX_DEPTH = 64;

/** Passes on the strings of JSON that comes in pieces, cut anywhere. It does not check the JSON, which is parsed when it is whole. */
export class JsonStrings {
  readonly #open: (key: string) => TakePiece | null;
  /** Of each open value: whether it is an object. */
  readonly #objects: boolean[] = [];
  #depth = 0;
  #key = "";
  /** The next string is a key. */
  #isKey = false;
  #inString = false;
  /** The start of an escape that is cut off. */
  #escape = "";
  #take: TakePiece | null = null;
  #started = false;

  /** `open` is asked at the start of each string that is a value, with its key; it returns what takes the pieces. */
  constructor(open: (key: string) => TakePiece | null) {
    this.#open = open;
  }

  /** The value has ended. */
  get isComplete(): boolean {
    return this.#started && this.#depth === 0 && !this.#inString;
  }

  push(text: string): void {
    for (let at = 0; at < text.length; ) at = this.#inString ? this.#readString(text, at) : this.#readMark(text, at);
  }

  #readMark(text: string, at: number): number {
    const mark = text[at]!;
    if (mark === '"') {
      this.#started = this.#inString = true;
      if (this.#isKey) this.#key = "";
      this.#take = this.#isKey ? this.#takeKey : this.#open(this.#key);
    } else if (mark === "{" || mark === "[") {
      this.#started = true;
      if (this.#depth < MAX_DEPTH) this.#objects[this.#depth] = mark === "{";
      this.#depth++;
      this.#isKey = mark === "{";
    } else if (mark === "}" || mark === "]") {
      this.#depth = Math.max(0, this.#depth - 1);
      this.#isKey = false;
    } else if (mark === ",")
      this.#isKey = this.#depth > 0 && this.#objects[Math.min(this.#depth, MAX_DEPTH) - 1] === true;
    else if (mark === ":") this.#isKey = false;
    return at + 1;
  }

  readonly #takeKey = (piece: string): void => {
    this.#key = (this.#key + piece).slice(0, MAX_KEY);
  };

  #readString(text: string, at: number): number {
    if (this.#escape !== "") return this.#readEscape(text, at);
    let end = at;
    while (end < text.length && text[end] !== '"' && text[end] !== "\\") end++;
    if (end > at) this.#take?.(text.slice(at, end), false);
    if (text[end] === "\\") this.#escape = "\\";
    else if (text[end] === '"') {
      this.#inString = false;
      this.#take?.("", true);
    }
    return end + 1;
  }

  #readEscape(text: string, at: number): number {
    this.#escape += text[at];
    const [, letter] = this.#escape;
    if (letter === "u" && this.#escape.length < 6) return at + 1;
    const code = Number.parseInt(this.#escape.slice(2), 16);
    this.#escape = "";
    this.#take?.(letter === "u" ? String.fromCharCode(code) : (ESCAPES[letter!] ?? letter!), false);
    return at + 1;
  }
}
