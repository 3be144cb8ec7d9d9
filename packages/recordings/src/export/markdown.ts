import { visible, visibleLines } from "@parlance/wire/internal/escape";
import { leftOutAs } from "../left-out.js";
import type { Content, Entry, Header } from "../recording.js";
import type { Exchanged, ExportForm } from "./connections.js";

/** Characters of one message that are shown. */
const SHOWN = 2000;

function head({ contract, began, redacted, versions }: Header): string {
  const rows = [
    ["contract", contract ? `${contract.name}${contract.digest ? ` (${contract.digest.slice(0, 19)})` : ""}` : "none"],
    ["began", began],
    [
      "written by",
      Object.entries(versions)
        .map((pair) => pair.join(" "))
        .join(", ") || "unknown",
    ],
    ["left out", redacted.join("; ") || "nothing"],
  ];
  return `# Recording\n\n| | |\n|---|---|\n${rows.map(([name, value]) => `| ${name} | ${cell(value!)} |`).join("\n")}\n`;
}

/** One connection in Markdown: its request, and a line for each message with its time. */
function connection(_: Header, { request, sent, entries }: Exchanged): string {
  const title = `\n## ${request.c}. ${inline(`${request.socket ? "WebSocket" : request.method} ${request.target}`)}\n`;
  const body = sent && (sent.text === undefined ? `\n${inline(shown(sent))}\n` : `\n${fence(sent.text)}`);
  const lines = entries.flatMap((entry) => lineOf(entry, request.t));
  return `${title}${body ?? ""}\n${lines.join("\n")}\n`;
}

/** Markdown. Its end says where the recording is not complete. */
export const markdown: ExportForm = {
  separator: "",
  begin: head,
  connection,
  end: ({ state, reason }) => (state === "complete" ? "" : `\n> This recording is ${state}: ${reason}.\n`),
};

function lineOf(entry: Entry, began: number): string[] {
  const mark = entry.from === "client" ? "→" : "←";
  const at = `${mark} ${(entry.t - began).toFixed(0)} ms`;
  switch (entry.kind) {
    case "response":
      return [`- ${at} **${entry.status}**`];
    case "body":
      return entry.from === "client" ? [] : [`- ${at} body ${inline(shown(entry))}`];
    case "event":
      return [`- ${at} **${inline(entry.event ?? "message")}** ${inline(shown(entry))}`];
    case "frame":
      return [`- ${at} ${inline(shown(entry))}`];
    case "close":
      return [`- ${at} close ${entry.code} ${entry.reason ? inline(entry.reason) : ""}`.trimEnd()];
    case "error":
      return [`- ${at} lost: ${inline(entry.text)}`];
    case "end":
      return [`- ${at} end`];
    default:
      return [];
  }
}

function shown(content: Content): string {
  const { text, base64 } = content;
  const all = text ?? (base64 === undefined ? `(${leftOutAs(content)})` : `(base64) ${base64}`);
  return all.length > SHOWN ? `${all.slice(0, SHOWN)}… (${all.length} characters)` : all;
}

/** Inline code, so that untrusted text is neither markup nor a control character. */
function inline(text: string): string {
  const plain = visible(text.replace(/[\r\n\t]+/g, " "));
  const ticks = "`".repeat(Math.max(0, ...[...plain.matchAll(/`+/g)].map(([run]) => run.length)) + 1);
  const space = /^`|`$/.test(plain) || plain === "" ? " " : "";
  return `${ticks}${space}${plain}${space}${ticks}`;
}

function fence(text: string): string {
  const ticks = "`".repeat(Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length)) + 1);
  return `${ticks}json\n${visibleLines(text.slice(0, SHOWN))}\n${ticks}\n`;
}

const cell = (text: string) => visible(text.replace(/[\r\n]+/g, " ")).replaceAll("|", "\\|");
