/** A transcript as an outline: headings with what stands under each, in Markdown or for Org mode, and back. */

type Format = "markdown" | "org";

/** A heading has under it either one text, or fields and labelled blocks. At a depth of 3 or more it has a timestamp. */
export interface Section {
  readonly depth: number;
  readonly title: string;
  readonly timestamp?: string | undefined;
  readonly text?: string | undefined;
  readonly fields?: Readonly<Record<string, string>> | undefined;
  readonly blocks?: Readonly<Record<string, string>> | undefined;
  /** Where it was read, 1-based. */
  readonly line?: number | undefined;
}

const BRAND = Symbol.for("@parlance/TranscriptError");

/** A text is not a transcript in the format it should have; `line` is 1-based, absent where the fault is not of one line. */
export class TranscriptError extends Error {
  static {
    // One of another copy of this package, such as its CommonJS build, is an instance too; a class that extends it has its own.
    Object.assign(TranscriptError.prototype, { [BRAND]: true });
    Object.defineProperty(TranscriptError, Symbol.hasInstance, {
      value(error: unknown) {
        return this === TranscriptError
          ? !!Object(error)[BRAND]
          : Function.prototype[Symbol.hasInstance].call(this, error);
      },
    });
  }

  override readonly name = "TranscriptError";
  readonly code = "transcript_unreadable";
  readonly line: number | undefined;
  constructor(message: string, line?: number) {
    super(line === undefined ? message : `line ${line}: ${message}`);
    this.line = line;
  }
}

/** Throws `RangeError` for a line break in a title, a timestamp or a field, or a bracket in a timestamp. */
export function formatOutline(sections: readonly Section[], format: Format): string {
  return sections.map(dialects[format].format).join("\n");
}

/** Reads what `formatOutline` writes; `isText` tells by their titles the sections that have one text. Throws `TranscriptError`. */
export function parseOutline(text: string, format: Format, isText: (title: string) => boolean): Section[] {
  const dialect = dialects[format];
  const found: { heading: Heading; line: number; body: string[] }[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const heading = dialect.heading(line);
    if (heading) found.push({ heading, line: index + 1, body: [] });
    else if (found.length > 0) found.at(-1)!.body.push(line);
    else throw new TranscriptError("there is no title before this", index + 1);
  }
  return found.map(({ heading, line, body }) => {
    const [, bare, timestamp] = (heading.depth > 2 && /^(.*) \[([^[\]]*)\]$/.exec(heading.title)) || [];
    const title = bare ?? heading.title;
    const under = isText(title) ? { text: dialect.text(body, line) } : parseBody(body, line, dialect);
    return { depth: heading.depth, title, timestamp, line, ...under };
  });
}

/** Fields and labelled blocks. `start` is the line of the heading. */
function parseBody(body: readonly string[], start: number, dialect: Dialect): Pick<Section, "fields" | "blocks"> {
  const fields: Record<string, string> = {};
  const blocks: Record<string, string> = {};
  let label: string | undefined;
  for (let index = 0; index < body.length; index++) {
    const line = body[index]!;
    const closing = label === undefined ? undefined : dialect.opens(line);
    const field = dialect.field(line);
    if (closing !== undefined) {
      const end = body.indexOf(closing, index);
      if (end < 0) throw new TranscriptError(`the block that starts here has no ${closing}`, start + index + 1);
      blocks[label!] = body
        .slice(index + 1, end)
        .map(dialect.unescape)
        .join("\n");
      label = undefined;
      index = end;
    } else if (field) fields[field[0]] = field[1];
    else if (/^\w+:$/.test(line)) label = line.slice(0, -1);
    else if (!dialect.idle(line))
      throw new TranscriptError(`"${line}" is not a part of a transcript`, start + index + 1);
  }
  return { fields, blocks };
}

type Heading = Pick<Section, "depth" | "title">;

interface Dialect {
  format(section: Section): string;
  heading(line: string): Heading | undefined;
  /** The one text under a heading. */
  text(body: readonly string[], start: number): string;
  field(line: string): readonly [string, string] | undefined;
  /** The line that ends the block which this line starts. */
  opens(line: string): string | undefined;
  unescape(line: string): string;
  /** A line that says nothing. */
  idle(line: string): boolean;
}

// A Markdown heading of the outline itself; others belong to the text they stand in. A backslash before one makes it text.
const heading = /^(#{1,4}) (Agent Session - .*|Conversation|Files Changed|.* \[[^[\]]*\])$/;
const escapedHeading = new RegExp(heading.source.replace("^", "^(\\\\*)"));

const markdown: Dialect = {
  format({ depth, title, timestamp, text, fields = {}, blocks = {} }) {
    const escaped = (raw: string) => eachLine(raw, (line) => (escapedHeading.test(line) ? `\\${line}` : line));
    const list = Object.entries(fields).map(([key, value]) => `- ${key}: ${oneLine(value)}`);
    const parts = [`${"#".repeat(depth)} ${stamp(title, timestamp)}`];
    if (text !== undefined) parts.push(escaped(text));
    if (list.length > 0) parts.push(list.join("\n"));
    for (const [label, block] of Object.entries(blocks)) {
      const longest = Math.max(2, ...(block.match(/`+/g) ?? []).map(({ length }) => length));
      const fence = "`".repeat(longest + 1);
      parts.push(`${label}:`, `${fence}${languageOf(label)}\n${escaped(block)}\n${fence}`);
    }
    return `${parts.join("\n\n")}\n`;
  },
  heading(line) {
    const [, marks, title] = heading.exec(line) ?? [];
    return marks === undefined ? undefined : { depth: marks.length, title: title! };
  },
  // Between two empty lines.
  text: (body) => body.slice(1, -1).map(markdown.unescape).join("\n"),
  field(line) {
    const [, key, value] = /^- (\w+): (.*)$/.exec(line) ?? [];
    return key === undefined ? undefined : [key, value!];
  },
  opens: (line) => /^(`{3,})\w+$/.exec(line)?.[1],
  unescape: (line) => (escapedHeading.exec(line)?.[1] ? line.slice(1) : line),
  idle: (line) => line === "",
};

const org: Dialect = {
  format({ depth, title, timestamp, text, fields = {}, blocks = {} }) {
    const entries = Object.entries(fields).map(([key, value]) => `${key.toUpperCase()}: ${oneLine(value)}`);
    if (depth === 1) return [`#+TITLE: ${oneLine(title)}`, ...entries.map((entry) => `#+${entry}`), ""].join("\n");
    // Org's own escape: inside a block a comma stands before what would be a heading or a keyword.
    const escaped = (raw: string) => eachLine(raw, (line) => line.replace(/^([ \t]*)(,*(?:\*|#\+))/, "$1,$2"));
    const source = (language: string, raw: string) => `#+BEGIN_SRC ${language}\n${escaped(raw)}\n#+END_SRC`;
    const drawer = entries.length > 0 ? ["", ":PROPERTIES:", ...entries.map((entry) => `:${entry}`), ":END:"] : [];
    const parts = [`${"*".repeat(depth - 1)} ${stamp(title, timestamp)}${drawer.join("\n")}`];
    if (text !== undefined) parts.push(source("markdown", text));
    for (const [label, block] of Object.entries(blocks)) parts.push(`${label}:`, source(languageOf(label), block));
    return `${parts.join("\n\n")}\n`;
  },
  heading(line) {
    const [, marks, title] = /^(#\+TITLE:|\*+) (.*)$/.exec(line) ?? [];
    if (marks === undefined) return undefined;
    return { depth: marks === "#+TITLE:" ? 1 : marks.length + 1, title: title! };
  },
  text: (body, start) => parseBody(["text:", ...body], start - 1, org).blocks!.text ?? "",
  field(line) {
    const [, key, value] = /^(?:#\+|:)(\w+): (.*)$/.exec(line) ?? [];
    return key === undefined ? undefined : [key.toLowerCase(), value!];
  },
  opens: (line) => (/^#\+BEGIN_SRC\b/.test(line) ? "#+END_SRC" : undefined),
  unescape: (line) => line.replace(/^([ \t]*),(,*(?:\*|#\+))/, "$1$2"),
  idle: (line) => line === "" || line === ":PROPERTIES:" || line === ":END:",
};

const dialects = { markdown, org };

function languageOf(label: string): string {
  return label === "params" ? "json" : "text";
}

function stamp(title: string, timestamp: string | undefined): string {
  if (timestamp === undefined) return oneLine(title);
  if (/[[\]]/.test(timestamp)) throw new RangeError(`the timestamp ${JSON.stringify(timestamp)} has a bracket`);
  return oneLine(`${title} [${timestamp}]`);
}

function oneLine(text: string): string {
  if (/[\n\r\u2028\u2029]/.test(text)) throw new RangeError(`${JSON.stringify(text)} must stand on one line`);
  return text;
}

// Not the `m` flag of regular expressions: to it, CR and U+2028 end a line too.
function eachLine(text: string, change: (line: string) => string): string {
  return text.split("\n").map(change).join("\n");
}
