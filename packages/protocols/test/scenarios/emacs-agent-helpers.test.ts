import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  formatTools,
  parseTools,
  readOnlyTools,
  requiresApproval,
  type ToolTable,
  writeTools,
} from "../../helpers/emacs-agent.js";
import {
  formatTranscript,
  parseTranscript,
  TranscriptError,
  type TranscriptFormat,
} from "../../helpers/emacs-agent-transcript.js";
import type { Transcript } from "../../src/emacs-agent.js";

describe("Approval", () => {
  it("has the document's tools", () => {
    expect(readOnlyTools).toEqual(["read_file", "search_files", "git_status", "lsp_diagnostics"]);
    expect(writeTools).toEqual(["write_file", "edit_file", "delete_file", "git_commit", "shell_exec"]);
  });
  it.each(readOnlyTools)("is not asked for %s", (tool) => expect(requiresApproval(tool)).toBe(false));
  it.each([...writeTools, "deploy", ""])("is asked for %j", (tool) => expect(requiresApproval(tool)).toBe(true));
  it("is asked for everything where the session does not approve read-only tools by itself", () => {
    expect(requiresApproval("read_file", { auto_approve_readonly: false })).toBe(true);
    expect(requiresApproval("read_file", { auto_approve_readonly: true })).toBe(false);
  });
});

const string = { type: "string", required: true } as const;
const documented: ToolTable = {
  tools: [
    { name: "read_file", description: "Read file contents", parameters: { path: string } },
    { name: "write_file", description: "Write to file", parameters: { path: string, content: string } },
    { name: "edit_file", description: "Edit existing file", parameters: { path: string, old: string, new: string } },
  ],
};
const table = `tools: 3
  name          description              params
  read_file     Read file contents       path:string!
  write_file    Write to file            path:string! content:string!
  edit_file     Edit existing file       path:string! old:string! new:string!
`;

describe("A TOON table", () => {
  it("of the document's tools is the document's, to the byte", () => expect(formatTools(documented)).toBe(table));

  it("of the document's tools takes at most 70 % of its JSON", () =>
    expect(formatTools(documented).length).toBeLessThanOrEqual(0.7 * JSON.stringify(documented).length));

  it.each<[string, ToolTable]>([
    ["the document's tools", documented],
    ["no tools", { tools: [] }],
    ["no parameters", { tools: [{ name: "git_status", description: "Show status", parameters: {} }] }],
    ["no description", { tools: [{ name: "x", description: "", parameters: { a: { type: "integer" } } }] }],
    [
      "cells longer than the document's columns",
      {
        tools: [
          {
            name: "a_tool_with_a_long_name",
            description: "What it does: read  and write, params and all",
            parameters: { "file-path": string, limit: { type: "integer" } },
          },
        ],
      },
    ],
  ])("of %s reads back", (_, tools) => expect(parseTools(formatTools(tools))).toEqual(tools));

  it("reads with CRLF and without a last line end", () => {
    expect(parseTools(table.trimEnd().replaceAll("\n", "\r\n"))).toEqual(documented);
  });

  it.each<[string, string, number]>([
    ["something else", "{}", 1],
    ["a wrong count", table.replace("tools: 3", "tools: 2"), 1],
    ["no head", "tools: 0", 2],
    ["a head in another order", "tools: 0\n  description  name  params\n", 2],
    [
      "a cell that runs into the next",
      table.replace("write_file    Write to file  ", "write_file_to_disk Write to file"),
      4,
    ],
    ["a parameter without a type", table.replace("old:string!", "old"), 5],
    ["a tool without a name", table.replace("read_file", "         "), 3],
  ])("with %s is refused, and the line is named", (_, text, line) => {
    expect(() => parseTools(text)).toThrow(expect.objectContaining({ name: "ToonError", line }));
  });

  it.each<[string, ToolTable["tools"][number], words: RegExp]>([
    [
      "a description of two lines",
      { name: "x", description: "a\nb", parameters: {} },
      /^the description of tool x has/,
    ],
    ["a name with space at its end", { name: "x ", description: "", parameters: {} }, /^the name of a tool has/],
    ["no name", { name: "", description: "a", parameters: {} }, /^a tool has no name$/],
    [
      "a parameter with a space",
      { name: "x", description: "", parameters: { "a b": string } },
      /^"a b", of .* tool x,/,
    ],
    [
      "a type with a colon",
      { name: "x", description: "", parameters: { a: { type: "a:b" } } },
      /^"a:b", of .* tool x,/,
    ],
  ])("cannot hold %s", (_, tool, message) => {
    expect(() => formatTools({ tools: [tool] })).toThrow(
      expect.objectContaining({ name: "ToonError", message: expect.stringMatching(message) }),
    );
  });
});

const example = JSON.parse(
  readFileSync(new URL("../../../../schemas/emacs-agent/messages/transcript.json", import.meta.url), "utf8"),
).examples[0] as Transcript;

// What could be taken for a part of the outline: headings, fences, keywords, drawers, escapes, and line ends of all kinds.
const hostile = [
  "",
  "\n",
  "\n\n",
  " ",
  "text",
  "# Title",
  "## Conversation",
  "\\## Conversation",
  "## Files Changed",
  "### User [2025-11-14T10:30:05Z]",
  "\\\\### User [x]",
  "#### Tool Call: a [x]",
  "- tool_call_id: x",
  "params:",
  "result:",
  "```",
  "```text",
  "````json",
  "* Conversation",
  "** User [x]",
  ",* a",
  ",,#+END_SRC",
  "#+END_SRC",
  "  #+END_SRC",
  "#+BEGIN_SRC text",
  "#+TITLE: a",
  ":PROPERTIES:",
  ":END:",
  ":STATUS: error",
  "- item",
  "a\r\nb",
  "\r",
  "a\u2028* b",
  "😀",
];

/** A small seeded generator (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sample(next: () => number): Transcript {
  const below = (count: number) => Math.floor(next() * count);
  const text = () => Array.from({ length: below(5) }, () => hostile[below(hostile.length)]!).join(below(2) ? "\n" : "");
  const timestamp = () => `2025-11-14T1${below(3)}:00:0${below(9)}Z`;
  const some = <T>(make: () => T) => Array.from({ length: below(4) }, make);
  const maybe = <T>(key: string, value: T) => (below(2) ? { [key]: value } : {});
  return {
    ...example,
    ...(below(2) ? { ended_at: undefined } : {}),
    messages: some(() => ({ role: below(2) ? "user" : "assistant", content: text(), timestamp: timestamp() }) as const),
    tool_calls: some(() => ({
      tool_call_id: `tc_${below(99)}`,
      tool: ["read_file", "User", "File: a [b]", "a [c]"][below(4)]!,
      params: { [text()]: text(), nested: { list: [1, null, text()] } },
      status: (["success", "error", "rejected"] as const)[below(3)]!,
      ...maybe("result", text()),
      ...maybe("message", text()),
      timestamp: timestamp(),
    })),
    file_changes: some(() => ({
      path: ["src/a b.rs", "User", "a [x].rs"][below(3)]!,
      operation: "write",
      timestamp: timestamp(),
    })),
  };
}

describe.each<TranscriptFormat>(["json", "markdown", "org"])("A transcript as %s", (format) => {
  it("reads back as it was, to the order of its fields", () => {
    const read = parseTranscript(formatTranscript(example, format), format);
    expect(JSON.stringify(read, null, 2)).toBe(JSON.stringify(example, null, 2));
    if (format === "json") expect(formatTranscript(example, format)).toBe(`${JSON.stringify(example, null, 2)}\n`);
  });

  const seed = 20251114;
  it(`reads back whatever is written in it (400 transcripts, seed ${seed})`, () => {
    const next = random(seed);
    for (let run = 0; run < 400; run++) {
      const transcript = sample(next);
      expect(parseTranscript(formatTranscript(transcript, format), format)).toEqual(transcript);
    }
  });

  it("is refused where a part is missing or is something else", () => {
    expect(() => parseTranscript("", format)).toThrow(TranscriptError);
    expect(() => parseTranscript("hello\n", format)).toThrow(TranscriptError);
    const text = formatTranscript(example, format);
    expect(() => parseTranscript(text.replace(/(status"?: *"?|STATUS: )success/, "$1fine"), format)).toThrow(
      TranscriptError,
    );
    expect(() => parseTranscript(text.replace(/^.*session_id.*$/im, ""), format)).toThrow(TranscriptError);
  });
});

describe("A transcript for people", () => {
  it("is written in Markdown with each turn under a heading, tool calls where they happened", () => {
    expect(formatTranscript(example, "markdown")).toBe(`# Agent Session - project

- session_id: 550e8400-e29b-41d4-a716-446655440000
- project_path: /path/to/project
- model: claude-sonnet-4.5
- started_at: 2025-11-14T10:30:00Z
- ended_at: 2025-11-14T11:45:00Z

## Conversation

### User [2025-11-14T10:30:05Z]

Implement user authentication

### Assistant [2025-11-14T10:30:15Z]

I'll implement user authentication using...

#### Tool Call: read_file [2025-11-14T10:30:20Z]

- tool_call_id: tc_abc123
- status: success

params:

\`\`\`json
{
  "path": "src/auth.rs"
}
\`\`\`

result:

\`\`\`text
... file contents ...
\`\`\`

## Files Changed

### File: src/auth.rs [2025-11-14T10:35:00Z]

- operation: write
`);
  });

  it("is written for Org mode with properties in drawers and Org's own escape in blocks", () => {
    const messages = [{ role: "user", content: "* one\n#+END_SRC", timestamp: "2025-11-14T10:30:05Z" }] as const;
    const text = formatTranscript({ ...example, messages: [...messages] }, "org");
    expect(text).toContain("#+TITLE: Agent Session - project\n#+SESSION_ID: 550e8400-e29b-41d4-a716-446655440000\n");
    expect(text).toContain("#+BEGIN_SRC markdown\n,* one\n,#+END_SRC\n#+END_SRC\n");
    expect(text).toContain(":PROPERTIES:\n:TOOL_CALL_ID: tc_abc123\n:STATUS: success\n:END:\n");
  });

  it.each(["markdown", "org"] as const)("is refused as %s where an id would break its line", (format) => {
    expect(() => formatTranscript({ ...example, session_id: "a\nb" }, format)).toThrow(RangeError);
    expect(() =>
      formatTranscript({ ...example, file_changes: [{ path: "a\rb", operation: "", timestamp: "" }] }, format),
    ).toThrow(RangeError);
  });

  it.each(["markdown", "org"] as const)("names the line of what is not a part of it, as %s", (format) => {
    const text = formatTranscript(example, format).replace(/(?<=src\/auth\.rs \[.*\]\n)/, "stray\n");
    const line = text.split("\n").indexOf("stray") + 1;
    expect(() => parseTranscript(text, format)).toThrow(expect.objectContaining({ name: "TranscriptError", line }));
  });
});
