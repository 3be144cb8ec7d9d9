import type { ContractFolder } from "@parlance/language/load";

/** What a case does to the contract. A place is `file#pointer`: "#/tag" is in contract.json, "said#/title" in messages/said.json. */
export interface Edit {
  readonly set?: Readonly<Record<string, unknown>>;
  readonly unset?: readonly string[];
  /** File -> text instead of what it has; null deletes it. */
  readonly text?: Readonly<Record<string, string | null>>;
  /** One more line of the transcript. */
  readonly line?: string;
}

/** A table of cases, one a line. */
export const table = <T>(text: string): T[] =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as T);

/** A small contract with one of everything, without fault, as a case changes it. */
export function pets({ set = {}, unset = [], text = {}, line }: Edit = {}): ContractFolder {
  const files = structuredClone(documents);
  const reach = (place: string): [Loose, string] => {
    const [file, pointer] = place.split("#") as [string, string];
    const steps = pointer.split("/").slice(1);
    const last = steps.pop()!;
    const owner = steps.reduce((value, step) => value[step], files[file ? `messages/${file}.json` : "contract.json"]);
    return [owner, last];
  };
  for (const place of unset) {
    const [owner, key] = reach(place);
    delete owner[key];
  }
  for (const [place, value] of Object.entries(set)) {
    const [owner, key] = reach(place);
    // A later place may lead into this value, and edits are shared by tests.
    owner[key] = structuredClone(value);
  }
  const texts: Record<string, string> = {};
  for (const [file, value] of Object.entries(files)) {
    const own = typeof value === "string" ? value : `${JSON.stringify(value, null, 2)}\n`;
    texts[file] = file.endsWith(".jsonl") && line !== undefined ? `${own}${line}\n` : own;
  }
  for (const [file, value] of Object.entries(text)) {
    if (value === null) delete texts[file];
    else texts[file] = value;
  }
  return { name: "pets", files: texts };
}

// biome-ignore lint/suspicious/noExplicitAny: cases break the documents in every way there is
type Loose = any;

const message = (title: string, kind: string, properties: Loose, example: Loose, description = title) => ({
  title,
  description,
  type: "object",
  required: ["kind", ...Object.keys(properties)],
  properties: { kind: { const: kind }, ...properties },
  examples: [{ kind, ...example }],
});

const documents: Record<string, Loose> = {
  "contract.json": {
    format: 1,
    name: "pets",
    title: "Pets",
    description: "How to talk to pets.",
    url: "http://localhost:1",
    tag: { in: "shape" },
    session: "pet_id",
    messages: {
      said: { schema: "messages/said.json", shape: { const: { kind: "said" }, required: ["text"] } },
      over: { schema: "messages/over.json", shape: { const: { kind: "over" } } },
      ask: { schema: "messages/ask.json", shape: { const: { kind: "ask" } } },
      reply: { schema: "messages/reply.json", shape: { const: { kind: "reply" } } },
    },
    operations: {
      talk: {
        method: "POST",
        path: "/pets/{pet_id}/talk",
        summary: "Talk to a pet.",
        parameters: {
          pet_id: { in: "path", type: "string", description: "Which." },
          loud: { in: "query", type: "boolean" },
        },
        when: { stream: true },
        body: "messages/talk.json",
        answer: { status: 200, stream: { messages: ["said", "over"], end: ["over"] } },
        faults: { "404": { description: "No such pet." } },
      },
      tell: {
        method: "POST",
        path: "/pets/{pet_id}/talk",
        summary: "Talk to a pet, for one answer.",
        parameters: { pet_id: { in: "path", type: "string" } },
        when: { stream: false },
        body: "messages/tell.json",
        answer: { status: 200, json: "messages/word.json" },
      },
    },
    channels: {
      line: {
        path: "/pets/{pet_id}/line",
        summary: "A line to a pet.",
        parameters: { pet_id: { in: "path", type: "string" } },
        client: ["reply"],
        server: ["said", "ask"],
        open: { server: "said" },
      },
    },
    exchanges: [{ ask: "ask", by: "server", key: "ask_id", answers: [{ message: "reply", key: "ask_id" }] }],
    reading: [{ of: "server", description: "Old pets shout.", rename: { "/TEXT": "text" } }],
    fault: {
      schema: "messages/fault.json",
      text: ["/error"],
      codes: { gone: { status: 404, description: "No such pet." } },
    },
  },
  "messages/said.json": message(
    "SaidMessage",
    "said",
    { text: { type: "string" } },
    { text: "woof" },
    "A pet says something.",
  ),
  "messages/over.json": message("OverMessage", "over", {}, {}),
  "messages/ask.json": message("AskMessage", "ask", { ask_id: { type: "string" } }, { ask_id: "1" }),
  "messages/reply.json": message(
    "ReplyMessage",
    "reply",
    { ask_id: { type: "string" }, yes: { type: "boolean" } },
    { ask_id: "1", yes: true },
  ),
  "messages/base.json": {
    title: "Base",
    description: "What every body has.",
    type: "object",
    required: ["stream"],
    properties: { mood: { $ref: "#/$defs/mood" }, stream: { type: "boolean" } },
    $defs: { mood: { title: "Mood", description: "How it feels.", enum: ["glad", "sad"], examples: ["glad"] } },
    examples: [{ stream: true }],
  },
  "messages/talk.json": {
    title: "TalkBody",
    description: "The text.",
    type: "object",
    allOf: [{ $ref: "base.json" }],
    required: ["words"],
    properties: { words: { type: "array", items: { $ref: "word.json" } }, stream: { const: true } },
    examples: [{ stream: true, words: ["sit"] }],
  },
  "messages/tell.json": {
    title: "TellBody",
    description: "The news.",
    type: "object",
    required: ["word", "stream"],
    properties: { word: { $ref: "word.json" }, stream: { const: false } },
    examples: [{ stream: false, word: "sit" }],
  },
  "messages/word.json": {
    title: "Word",
    description: "One word.",
    type: "string",
    pattern: "^[a-z]+$",
    examples: ["sit"],
  },
  "messages/fault.json": {
    title: "FaultBody",
    description: "What went wrong.",
    type: "object",
    required: ["error"],
    properties: { error: { type: "string" } },
    examples: [{ error: "no such pet" }],
  },
  "transcripts/flow.jsonl":
    '{"note":"A pet hangs up."}\n{"from":"server","wire":"data: {\\"kind\\":\\"over\\"}\\n\\n","message":{"type":"over"}}\n{"from":"server","end":"done"}\n',
};
