import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { contractSchema } from "@parlance/contract/lint";
import { exit, type Io, UsageError } from "./io.js";

export const help = `parlance init [DIR]

Writes a first contract to edit: one operation that answers a prompt with a stream of text. DIR is its folder (default
./schemas/my-agent), named like the protocol, in lower case with hyphens. Beside DIR, contract.schema.json lets an editor
complete and check contract.json. Nothing that exists is overwritten.

Exit codes: 0 written, 2 usage, or a folder that is not empty or cannot be written.
`;

export async function command(argv: string[], io: Io): Promise<number> {
  const { positionals } = parseArgs({ args: argv, options: {}, allowPositionals: true });
  const directory = resolve(io.cwd, positionals[0] ?? "schemas/my-agent");
  const name = basename(directory);
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name))
    throw new UsageError(`"${name}" cannot name a protocol: use lower case, digits and hyphens, such as my-agent`);
  if ((await readdir(directory).catch(() => [])).length > 0)
    throw new UsageError(`${relative(io.cwd, directory) || "."} is not empty; nothing was written`);
  for (const [file, text] of Object.entries(first(name))) {
    await mkdir(dirname(join(directory, file)), { recursive: true });
    await writeFile(join(directory, file), text);
  }
  const schema = join(dirname(directory), "contract.schema.json");
  await writeFile(schema, json(contractSchema), { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  const shown = relative(io.cwd, directory) || ".";
  io.out(
    `${shown} is a contract. Edit it, then:\n  parlance lint ${shown}\n  parlance generate ${shown} --out src/protocols\n`,
  );
  return exit.fine;
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** A sound contract: a prompt, answered by a stream of text that ends well or with an error. */
function first(name: string): Record<string, string> {
  const text = (title: string, description: string, property: string, example: string, what = description) => ({
    title,
    description,
    type: "object",
    required: [property],
    properties: { [property]: { type: "string", description: what } },
    examples: [{ [property]: example }],
  });
  return {
    "contract.json": json({
      $schema: "../contract.schema.json",
      format: 1,
      name,
      title: name,
      description:
        "How an editor talks to this agent: a prompt is sent by POST, and the answer streams back as Server-Sent Events.",
      url: "http://localhost:8080",
      tag: { in: "event" },
      messages: {
        text: { schema: "messages/text.json" },
        done: { schema: "messages/done.json" },
        error: { schema: "messages/error.json", fault: { text: ["/error"] } },
      },
      operations: {
        prompt: {
          method: "POST",
          path: "/prompt",
          summary: "Send a prompt and receive the answer as a stream.",
          body: "messages/prompt.json",
          answer: {
            status: 200,
            stream: {
              messages: ["text", "done", "error"],
              end: ["done", "error"],
              fault: "error",
              text: { append: { text: "text" }, final: { done: "text" } },
            },
          },
          faults: { "400": { description: "The body is not a prompt." } },
        },
      },
      channels: {},
      fault: { schema: "messages/fault.json", text: ["/error"] },
    }),
    "messages/prompt.json": json(text("PromptBody", "What the user asks.", "prompt", "Rename total to sum.")),
    "messages/text.json": json(text("TextMessage", "A piece of the answer's text.", "text", "I will rename ")),
    "messages/done.json": json(
      text("DoneMessage", "The answer is complete; its whole text.", "text", "I will rename it."),
    ),
    "messages/error.json": json(text("ErrorMessage", "The answer failed.", "error", "The model is not available.")),
    "messages/fault.json": json(
      text("FaultBody", "The body of a refusal, before a stream starts.", "error", "prompt is missing"),
    ),
    "transcripts/prompt.jsonl": [
      { note: "A prompt and its answer." },
      {
        from: "client",
        call: "prompt",
        input: { prompt: "Rename total to sum." },
        request: { method: "POST", target: "/prompt", body: '{"prompt":"Rename total to sum."}' },
      },
      { from: "server", wire: 'event: text\ndata: {"text":"Done."}\n\n', message: { type: "text", text: "Done." } },
      { from: "server", wire: 'event: done\ndata: {"text":"Done."}\n\n', message: { type: "done", text: "Done." } },
      { from: "server", end: "done" },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
  };
}
