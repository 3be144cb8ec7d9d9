import { readFileSync } from "node:fs";

const guide = readFileSync(new URL("../../../docs/contract.md", import.meta.url), "utf8");
const [contractJson] = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].flatMap(([, text]) =>
  text!.includes('"name": "vault"') ? text! : [],
);

const schema = (title: string, properties: Record<string, object>, example: object) =>
  JSON.stringify({
    title,
    description: title,
    type: "object",
    required: Object.keys(properties),
    properties,
    examples: [example],
  });
const string = { type: "string" };
/** The contract of the guide with bytes, headers, cookies and a sentinel, by file: read from docs/contract.md. */
export const vaultFiles: Readonly<Record<string, string>> = {
  "contract.json": contractJson!,
  "messages/word.json": schema("WordMessage", { type: { const: "word" }, text: string }, { type: "word", text: "a" }),
  "messages/error.json": schema(
    "ErrorMessage",
    { type: { const: "error" }, error: string },
    { type: "error", error: "gone" },
  ),
  "messages/rename.json": schema("RenameBody", { to: string }, { to: "b.txt" }),
  "messages/fault.json": schema("FaultBody", { error: string }, { error: "no such file" }),
};
