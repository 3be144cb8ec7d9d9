import type { ContractFolder } from "@parlance/language/load";

// biome-ignore lint/suspicious/noExplicitAny: cases break the documents in every way there is
type Loose = any;

const object = (title: string, properties: Loose, example: Loose, required = Object.keys(example)) => ({
  title,
  description: `${title}.`,
  type: "object",
  ...(required.length > 0 && { required }),
  properties,
  examples: [example],
});

const text = (description: string) => ({ description, type: "string" });
const sessionId = text("The session.");

/** A small contract with methods, with one of everything that they have. `edit` changes its contract.json, `files` other files. */
export function calls(
  edit: (contract: Loose) => void = () => {},
  files: Readonly<Record<string, Loose>> = {},
): ContractFolder {
  const contract = structuredClone(source);
  edit(contract);
  const all = { "contract.json": contract, ...schemas, ...files };
  return {
    name: "calls",
    files: Object.fromEntries(Object.entries(all).map(([file, value]) => [file, JSON.stringify(value)])),
  };
}

const source: Loose = {
  format: 2,
  name: "calls",
  title: "Calls",
  imported: "a document, version 1",
  url: "http://localhost:1",
  session: "sessionId",
  rpc: { version: "2.0", cancel: "$/cancel", extensions: "_" },
  methods: {
    hello: { by: "client", summary: "Begins.", params: "messages/hello.json", result: "messages/welcome.json" },
    "turn/ask": {
      by: "client",
      summary: "Gives a turn.",
      description: "It answers when the turn is over.",
      params: "messages/ask.json",
      result: "messages/done.json",
      stream: "turn/text",
      cancel: "turn/stop",
      cancelled: { reason: "stopped" },
    },
    "turn/load": {
      by: "client",
      summary: "Repeats a turn.",
      params: "messages/key.json",
      result: "messages/nothing.json",
      needs: "/can/load",
    },
    "turn/stop": { by: "client", summary: "Stops the turn.", params: "messages/key.json" },
    "turn/text": { by: "server", summary: "Says something.", params: "messages/text.json" },
    "turn/allow": {
      by: "server",
      summary: "Asks whether a tool may run.",
      params: "messages/key.json",
      result: "messages/allowed.json",
      ask: true,
    },
    "file/read": {
      by: "server",
      summary: "Reads a file.",
      params: "messages/nothing.json",
      result: "messages/nothing.json",
      needs: "/files",
    },
    ping: { by: "both", summary: "Asks for a sign of life.", result: "messages/nothing.json" },
    "$/cancel": { by: "both", summary: "Cancels a request.", params: "messages/cancel.json" },
  },
  errors: { "-32000": { code: "away", description: "Nobody is there." } },
  channels: { talk: { path: "/talk", summary: "Talk.", carriers: ["stdio", "websocket"] } },
};

const schemas: Readonly<Record<string, Loose>> = {
  "messages/hello.json": object("Hello", { version: { type: "integer" }, files: { type: "boolean" } }, { version: 1 }),
  "messages/welcome.json": object(
    "Welcome",
    { version: { type: "integer" }, can: { anyOf: [{ $ref: "can.json" }, { type: "null" }] } },
    { version: 1 },
  ),
  "messages/can.json": object("Can", { load: { type: "boolean" } }, { load: true }),
  "messages/ask.json": object("Ask", { sessionId, words: text("The words.") }, { sessionId: "s", words: "hi" }),
  "messages/done.json": object("Done", { reason: { enum: ["over", "stopped"] } }, { reason: "over" }),
  "messages/key.json": object("Key", { sessionId }, { sessionId: "s" }),
  "messages/text.json": object("Text", { sessionId, text: text("The text.") }, { sessionId: "s", text: "well" }),
  "messages/allowed.json": object("Allowed", { yes: { type: "boolean" } }, { yes: true }),
  "messages/nothing.json": object("Nothing", {}, {}),
  "messages/cancel.json": object("Cancel", { requestId: { type: ["string", "number", "null"] } }, { requestId: 1 }),
};
