/** What the emacs-agent document says of tools, beside its messages: which of them ask, and their TOON table. */

/** "Read-only tools (auto-approved)". */
export const readOnlyTools = ["read_file", "search_files", "git_status", "lsp_diagnostics"] as const;

/** "Write tools (require approval)". */
export const writeTools = ["write_file", "edit_file", "delete_file", "git_commit", "shell_exec"] as const;

/**
 * What `tool.call` says as `requires_approval`. Read-only tools are approved by themselves unless the session was created
 * with `auto_approve_readonly: false`; all others ask, those that the document does not list too.
 */
export function requiresApproval(tool: string, config: { readonly auto_approve_readonly?: boolean } = {}): boolean {
  return config.auto_approve_readonly === false || !readOnlyTools.some((name) => name === tool);
}

/** Tool definitions as the backend gives them to the model: the JSON form, of which the TOON table is another. */
export interface ToolTable {
  readonly tools: readonly ToolDefinition[];
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: Readonly<Record<string, ToolParameter>>;
}

export interface ToolParameter {
  /** A JSON type. */
  readonly type: string;
  readonly required?: boolean | undefined;
}

const BRAND = Symbol.for("@parlance/ToonError");

/** A tool cannot be written in a table, or a text is not one; `line` is 1-based, in what was read. */
export class ToonError extends Error {
  static {
    // One of another copy of this package, such as its CommonJS build, is an instance too; a class that extends it has its own.
    Object.assign(ToonError.prototype, { [BRAND]: true });
    Object.defineProperty(ToonError, Symbol.hasInstance, {
      value(error: unknown) {
        return this === ToonError ? !!Object(error)[BRAND] : Function.prototype[Symbol.hasInstance].call(this, error);
      },
    });
  }

  override readonly name = "ToonError";
  readonly code = "not_a_tool_table";
  readonly line: number | undefined;
  constructor(message: string, line?: number) {
    super(line === undefined ? message : `line ${line}: ${message}`);
    this.line = line;
  }
}

const indent = 2;
const columns = ["name", "description", "params"] as const;
// The document's own columns are this wide; a longer cell makes its column wider.
const documented = { name: 14, description: 25 };
const gap = 2;

/**
 * Writes the optional TOON (Token-Oriented Object Notation) table, in the document's form: a count, a head, and a line a
 * tool, with `name:type` for each parameter and `!` behind a required one. Ends with LF. Throws `ToonError` for what a
 * table cannot hold: a line break, space at the ends of a cell, or a space, `:` or `!` in a parameter's name or type.
 */
export function formatTools({ tools }: ToolTable): string {
  if (tools.some(({ name }) => name === "")) throw new ToonError("a tool has no name");
  const rows = tools.map(({ name, description, parameters }) => ({
    name: cell(name, "the name of a tool"),
    description: cell(description, `the description of tool ${name}`),
    params: Object.entries(parameters)
      .map(([key, { type, required }]) => `${word(key, name)}:${word(type, name)}${required ? "!" : ""}`)
      .join(" "),
  }));
  const width = (column: keyof typeof documented) =>
    Math.max(documented[column], ...rows.map((row) => row[column].length + gap));
  const names = width("name");
  const descriptions = width("description");
  const line = (name: string, description: string, params: string) =>
    `${" ".repeat(indent)}${name.padEnd(names)}${description.padEnd(descriptions)}${params}`.trimEnd();
  return [`tools: ${tools.length}`, line(...columns), ...rows.map((row) => line(row.name, row.description, row.params))]
    .map((text) => `${text}\n`)
    .join("");
}

/**
 * Reads a table back: `parseTools(formatTools(table))` equals `table`, but for `required: false`, which a table does not
 * tell from an absent one. The columns are where the head says they are. Throws `ToonError` with the line.
 */
export function parseTools(text: string): ToolTable {
  const lines = text.replace(/(\r?\n)+$/, "").split(/\r?\n/);
  const count = /^tools: (\d+)$/.exec(lines[0]!)?.[1];
  if (count === undefined) throw new ToonError('a tool table starts with "tools: " and their number', 1);
  const head = lines[1] ?? "";
  const [name, description, params] = columns.map((column) => head.search(new RegExp(`(?<= )${column}(?= |$)`)));
  if (name! < 0 || description! < name! || params! < description!)
    throw new ToonError(`the head names the columns ${columns.join(", ")}, in this order`, 2);
  const tools = lines.slice(2).map((line, index) => {
    const at = index + 3;
    for (const start of [name!, description!, params!])
      if (line.length > start && line[start - 1] !== " ") throw new ToonError("a cell runs into the next column", at);
    const tool = line.slice(name, description).trim();
    if (tool === "") throw new ToonError("the tool has no name", at);
    const parameters = line.slice(params).split(" ").filter(Boolean);
    return {
      name: tool,
      description: line.slice(description, params).trim(),
      parameters: Object.fromEntries(parameters.map((parameter) => parseParameter(parameter, at))),
    };
  });
  if (tools.length !== Number(count)) throw new ToonError(`the table says ${count} tools and has ${tools.length}`, 1);
  return { tools };
}

function parseParameter(text: string, line: number): [string, ToolParameter] {
  const [, name, type, required] = /^([^:!]+):([^:!]+)(!?)$/.exec(text) ?? [];
  if (name === undefined || type === undefined)
    throw new ToonError(
      `${JSON.stringify(text)} is not a parameter; one is written name:type, with ! if required`,
      line,
    );
  return [name, { type, ...(required && { required: true }) }];
}

function cell(text: string, what: string): string {
  if (/[\r\n]/.test(text) || text !== text.trim())
    throw new ToonError(`${what} has a line break, or space at an end; a table cannot hold it`);
  return text;
}

function word(text: string, tool: string): string {
  if (text === "" || /[\s:!]/.test(text))
    throw new ToonError(`${JSON.stringify(text)}, of a parameter of tool ${tool}, is empty or has a space, ":" or "!"`);
  return text;
}
