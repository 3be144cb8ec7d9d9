import { isObject } from "@parlance/wire";
import { escapeRegExp } from "@parlance/wire/internal/escape";
import { partsOf } from "../target.js";

/** One difference between the live and the recorded value. */
export interface Difference {
  /** A JSON Pointer into the body, or the part of the request: `method`, `path`, `query`. */
  readonly at: string;
  readonly recorded: unknown;
  readonly came: unknown;
}

export interface MatchOptions {
  /** Names of properties and parameters that may differ. */
  readonly ignore?: readonly string[] | undefined;
  /** Names of properties that hold ids: the peer's ids replace the recorded ones. Names that end in `id` always count. */
  readonly ids?: readonly string[] | undefined;
  /** Recorded text -> its replacement: a folder, a secret by its placeholder. */
  readonly values?: Readonly<Record<string, string>> | undefined;
  /** Ids are bound even if other values differ. */
  readonly lenient?: boolean | undefined;
}

const PLACEHOLDER = /__redacted_\d+__/g;
const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/**
 * Compares live values with recorded ones. A generated id may differ from the recording, but is the same wherever it is
 * repeated; a placeholder stands for any text; a time for any time.
 */
export class Matcher {
  readonly #ignore: ReadonlySet<string>;
  readonly #ids: ReadonlySet<string>;
  /** Recorded id or placeholder -> its current value. */
  readonly #bound = new Map<string, string>();
  /** The ids that this side has sent, by property: they come back as they are. */
  readonly #sent = new Set<string>();
  readonly #lenient: boolean;
  #pattern: RegExp | undefined;

  constructor({ ignore = [], ids = [], values = {}, lenient = false }: MatchOptions = {}) {
    this.#lenient = lenient;
    this.#ignore = new Set(ignore);
    this.#ids = new Set(ids);
    for (const [recorded, now] of Object.entries(values)) {
      this.bind(encodeURIComponent(recorded), encodeURIComponent(now));
      this.bind(recorded, now);
    }
  }

  /** The differences of two texts. If there are none, their ids are bound. */
  text(recorded: string | undefined, came: string | undefined): Difference[] {
    return this.#settle((found, bind) => this.#compare("", "", parsed(recorded), parsed(came), found, bind));
  }

  /** The differences of two requests. `fresh` lets them bind ids that are not known yet. */
  request(recorded: Asked, came: Asked, fresh: boolean): Difference[] {
    return this.#settle((found, bind) => {
      const refuse: Bind = fresh ? bind : () => false;
      const [a, b] = [parts(recorded), parts(came)];
      if (a.method !== b.method) found.push({ at: "method", recorded: a.method, came: b.method });
      const steps: Difference[] = [];
      for (const [i, step] of a.path.entries()) this.#compare("path", "", step, b.path[i], steps, refuse);
      if (steps.length > 0 || a.path.length !== b.path.length)
        found.push({ at: "path", recorded: a.path.join("/"), came: b.path.join("/") });
      this.#compare("query", "", a.query, b.query, found, refuse);
      if (!recorded.takesAnyBody) this.#compare("", "", parsed(recorded.body), parsed(came.body), found, refuse);
    });
  }

  /** A recorded text with the ids and secrets of this replay. */
  rewrite(text: string): string {
    if (this.#bound.size === 0) return text;
    this.#pattern ??= new RegExp([...this.#bound.keys()].map(escapeRegExp).join("|"), "g");
    return text.replace(this.#pattern, (one) => this.#bound.get(one) ?? one);
  }

  /** A recorded text to send, with the ids and secrets of this replay. */
  send(text: string): string {
    this.sent(text);
    return this.rewrite(text);
  }

  /** Notes a recorded text that this side sends: an id in it is no longer free to differ. */
  sent(text: string): void {
    this.#know("", parsed(text), 0);
  }

  #know(key: string, value: unknown, depth: number): void {
    if (typeof value === "string") {
      if (this.#isId(key)) this.#sent.add(this.#sentAs(key, value));
    } else if (depth > 64) return;
    else if (Array.isArray(value)) for (const one of value) this.#know(key, one, depth + 1);
    else if (isObject(value)) for (const name of Object.keys(value)) this.#know(name, value[name], depth + 1);
  }

  /** The contract's own ids may come back under another name. A short one, such as a count, may be another one's elsewhere. */
  #sentAs(key: string, value: string): string {
    return UUID.test(value) ? value : JSON.stringify([this.#ids.has(key) ? "" : key, value]);
  }

  #isId(key: string): boolean {
    return this.#ids.has(key) || /(^|_)id$|Id$/.test(key);
  }

  bind(recorded: string, now: string): void {
    this.#bound.set(recorded, now);
    this.#pattern = undefined;
  }

  /** The value of a placeholder, made by `make` on first use. */
  placeholder(recorded: string, make: () => string): string {
    if (!this.#bound.has(recorded)) this.bind(recorded, make());
    return this.#bound.get(recorded)!;
  }

  /** Keeps the bindings of a comparison that finds no difference, or of any if it is lenient. */
  #settle(compare: (found: Difference[], bind: Bind) => void): Difference[] {
    const found: Difference[] = [];
    const fresh = new Map<string, string>();
    compare(found, (recorded, came) => {
      const known = fresh.get(recorded) ?? this.#bound.get(recorded);
      if (known === undefined) fresh.set(recorded, came);
      return known === undefined || known === came;
    });
    if (found.length === 0 || this.#lenient)
      for (const [recorded, came] of fresh) if (recorded !== came) this.bind(recorded, came);
    return found;
  }

  #compare(at: string, key: string, recorded: unknown, came: unknown, found: Difference[], bind: Bind): void {
    if (this.#ignore.has(key) || (recorded === came && !this.#isOld(recorded))) return;
    if (typeof recorded === "string" && this.#sameText(key, recorded, came, bind)) return;
    if (Array.isArray(recorded) && Array.isArray(came) && recorded.length === came.length) {
      for (const [i, one] of recorded.entries()) this.#compare(`${at}/${i}`, key, one, came[i], found, bind);
    } else if (isObject(recorded) && isObject(came)) {
      for (const name of new Set([...Object.keys(recorded), ...Object.keys(came)]))
        this.#compare(`${at}/${name}`, name, recorded[name], came[name], found, bind);
    } else found.push({ at, recorded, came });
  }

  /** Whether a text is a recorded id that stands for another one now. */
  #isOld(recorded: unknown): boolean {
    return typeof recorded === "string" && (this.#bound.get(recorded) ?? recorded) !== recorded;
  }

  #sameText(key: string, recorded: string, came: unknown, bind: Bind): boolean {
    if (typeof came !== "string") return isPlaceholder(recorded) && came !== undefined;
    if (isPlaceholder(recorded)) return bind(recorded, came);
    const now = this.rewrite(recorded);
    if (this.#isOld(recorded)) return now === came;
    if (now === came || (TIME.test(recorded) && TIME.test(came))) return true;
    if (now.search(PLACEHOLDER) >= 0 && wildcard(now).test(came)) return true;
    // JSON within JSON, such as the arguments of a tool. A text may begin as JSON and be none.
    const inside = /^[[{]/.test(recorded) && /^[[{]/.test(came) ? parsed(recorded) : undefined;
    if (typeof inside === "object") {
      const inner: Difference[] = [];
      this.#compare("", "", inside, parsed(came), inner, bind);
      return inner.length === 0;
    }
    const isId = this.#isId(key) || (UUID.test(recorded) && UUID.test(came));
    return (
      isId && !this.#sent.has(this.#sentAs(key, recorded)) && recorded !== "" && came !== "" && bind(recorded, came)
    );
  }
}

/** Returns false if the recorded value is bound to another one already. */
type Bind = (recorded: string, came: string) => boolean;

export interface Asked {
  readonly method: string;
  readonly target: string;
  readonly body?: string | undefined;
  /** Its body was left out of the recording, and cannot be compared. */
  readonly takesAnyBody?: boolean;
}

/** The canonical form of a request: its path by segments, its query by name. JSON bodies are compared by value. */
function parts({ method, target }: Asked): { method: string; path: string[]; query: Record<string, string[]> } {
  const url = partsOf(target);
  if (!url) return { method, path: [target], query: {} };
  const query = new Map<string, string[]>();
  for (const [name, value] of url.searchParams) query.set(name, [...(query.get(name) ?? []), value]);
  return { method, path: url.pathname.split("/"), query: Object.fromEntries(query) };
}

function parsed(text: string | undefined): unknown {
  if (text === undefined || !/^\s*[[{"\d]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const isPlaceholder = (text: string) => /^__redacted_\d+__$/.test(text);

const wildcard = (text: string) => new RegExp(`^${text.split(PLACEHOLDER).map(escapeRegExp).join("[^]*?")}$`);

/** Differences for people, a line each. */
export function formatDifferences(differences: readonly Difference[], most = 10): string[] {
  const show = (value: unknown) => {
    const text = value === undefined ? "nothing" : JSON.stringify(value);
    return text.length > 200 ? `${text.slice(0, 200)}…` : text;
  };
  const lines = differences
    .slice(0, most)
    .map(({ at, recorded, came }) => `${at || "the whole"}: recorded ${show(recorded)}, came ${show(came)}`);
  return differences.length > most ? [...lines, `and ${differences.length - most} more`] : lines;
}
