// Review what a model wrote before it touches your files: tsx examples/review/main.ts DIR ANSWER.md
import { readFile } from "node:fs/promises";
import { review } from "@parlance/inspect/node";

const [root, answer] = process.argv.slice(2);
if (!root || !answer) {
  console.error("usage: tsx examples/review/main.ts DIR ANSWER");
  process.exit(2);
}
const { url } = await review({ root, text: await readFile(answer, "utf8") });
console.log(`Review the edits at ${url}`);
