import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { outline } from "./outline.js";

/** Writes llms.txt (llmstxt.org) and, beside each page, the Markdown that it is made of. */
export function writeTexts(source: string, out: string, pages: readonly string[], description: string): void {
  for (const page of pages) {
    mkdirSync(dirname(join(out, page)), { recursive: true });
    copyFileSync(join(source, page), join(out, page));
  }
  const sections = outline.map(({ text, items }) => {
    const lines = items.map((item) => {
      const page = item.link.endsWith("/") ? `${item.link}index.md` : `${item.link}.md`;
      return `- [${item.text}](${page})${summaryOf(readFileSync(join(source, page), "utf8"))}`;
    });
    return `## ${text}\n\n${lines.join("\n")}\n`;
  });
  writeFileSync(join(out, "llms.txt"), `# Parlance\n\n> ${description}\n\n${sections.join("\n")}`);
}

/** The first sentence of a page, after its title. */
function summaryOf(page: string): string {
  const [, text = ""] = /^# .*\n\n([A-Z@][^\n]*(?:\n[^\n]+)*)/m.exec(page) ?? [];
  const sentence = text.replaceAll("\n", " ").split(/(?<=\.) /)[0]!;
  return sentence === "" ? "" : `: ${sentence.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/:$/, ".")}`;
}
