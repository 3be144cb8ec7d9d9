/** What a workspace's policy lets run: "Server MUST respect policy for each mode and request approval when required." */

import { parsePatch } from "@parlance/edits";
import type { WorkspacePolicy } from "../src/loco.js";

/** What holds where a policy is silent; the defaults of its schema. */
export const defaultPolicy = {
  command_execution_mode: "local_terminal",
  time_limit_ms: 60_000,
  output_limit_bytes: 1_000_000,
  command_approval: "prompt",
  allowed_commands: [],
  blocked_commands: [],
  tools_requiring_approval: ["write_file", "execute_command", "delete_file"],
} satisfies Required<WorkspacePolicy>;

/** Where a command runs, and within which limits. A client's own terminal has none. */
export type CommandRun =
  | { readonly mode: "local_terminal" }
  | { readonly mode: "server_runner"; readonly time_limit_ms: number; readonly output_limit_bytes: number };

/** A command to run. What is absent is as the policy says. */
export interface CommandRequest {
  readonly command: string;
  /** Where it runs: in the workspace. */
  readonly working_directory?: string | undefined;
  readonly mode?: CommandRun["mode"] | undefined;
  readonly time_limit_ms?: number | undefined;
  readonly output_limit_bytes?: number | undefined;
}

/**
 * A tool to run. An argument named `command` is judged as a command too; one whose name ends in `path`, `file`, `directory`, `folder`, `dir`
 * or `cwd` as a path in the workspace, wherever it stands; `diff` and `patch` by the paths in them.
 */
export interface ToolRequest {
  readonly tool_name: string;
  readonly args?: Readonly<Record<string, unknown>> | undefined;
}

export interface DecideOptions {
  /** The workspace's absolute path. An absolute path below it is inside; without it every absolute path is outside. */
  readonly root?: string | undefined;
}

export interface Decision {
  /** allowed: it runs. ask: it runs once the user has approved it. refused: it never runs, and the error is POLICY_VIOLATION. */
  readonly outcome: "allowed" | "ask" | "refused";
  /** Why, in words for the user. */
  readonly reason: string;
  /** Only for a command that may run. */
  readonly run?: CommandRun | undefined;
}

/**
 * "Server MUST respect policy for each mode and request approval when required." The law: what the policy blocks is refused,
 * whatever the user answers; what neither blocks nor allows asks; of two answers the stricter one holds. A list is a guard against
 * accidents, not a sandbox: a shell has many ways to spell a command. So a line with shell syntax is never allowed by a list.
 */
export function decide(
  policy: WorkspacePolicy,
  request: CommandRequest | ToolRequest,
  { root }: DecideOptions = {},
): Decision {
  const outside = pathsIn("tool_name" in request ? request.args : request).find((path) => leavesWorkspace(path, root));
  if (outside !== undefined)
    return { outcome: "refused", reason: `"${outside}" is outside the workspace; a path is relative to its root.` };
  return "tool_name" in request ? decideTool(policy, request) : decideCommand(policy, request);
}

function decideTool(policy: WorkspacePolicy, { tool_name, args = {} }: ToolRequest): Decision {
  const { command } = args;
  const { tools_requiring_approval = defaultPolicy.tools_requiring_approval } = policy;
  const decision: Decision = tools_requiring_approval.includes(tool_name)
    ? { outcome: "ask", reason: `The policy asks before ${tool_name}.` }
    : { outcome: "allowed", reason: `The policy lets ${tool_name} run without asking.` };
  if (typeof command !== "string") return decision;
  const inner = decideCommand(policy, { command });
  return inner.outcome === "allowed" ? { ...decision, run: inner.run } : inner;
}

function decideCommand(policy: WorkspacePolicy, request: CommandRequest): Decision {
  const { command } = request;
  const {
    blocked_commands = defaultPolicy.blocked_commands,
    allowed_commands = defaultPolicy.allowed_commands,
    command_approval = defaultPolicy.command_approval,
  } = policy;
  if (command.trim() === "") return { outcome: "refused", reason: "There is no command." };
  const blocked = blocked_commands.find((entry) => holds(command, entry));
  if (blocked !== undefined) return { outcome: "refused", reason: `The policy blocks "${blocked}".` };
  const run = place(policy, request);
  if (typeof run === "string") return { outcome: "refused", reason: run };

  if (command_approval === "never")
    return { outcome: "allowed", reason: "The policy lets commands run without asking.", run };
  if (command_approval === "always") return { outcome: "ask", reason: "The policy asks before every command.", run };
  const allowed = allowed_commands.find((entry) => begins(command, entry));
  if (allowed === undefined) return { outcome: "ask", reason: "The policy does not list this command.", run };
  if (shellSyntax.test(command))
    return { outcome: "ask", reason: `The policy allows "${allowed}", not more shell after it.`, run };
  return { outcome: "allowed", reason: `The policy allows "${allowed}".`, run };
}

/** Where the command runs, or why it may not run there. */
function place(policy: WorkspacePolicy, request: CommandRequest): CommandRun | string {
  const { command_execution_mode: mode = defaultPolicy.command_execution_mode } = policy;
  if (request.mode !== undefined && request.mode !== mode)
    return `The policy runs commands in mode ${mode}, not ${request.mode}.`;
  if (mode === "local_terminal") return { mode };
  const limit = (name: "time_limit_ms" | "output_limit_bytes") => policy[name] ?? defaultPolicy[name];
  for (const name of ["time_limit_ms", "output_limit_bytes"] as const)
    if (request[name] !== undefined && !(request[name] > 0 && request[name] <= limit(name)))
      return `${name} is ${request[name]}; the policy allows 1 to ${limit(name)}.`;
  return {
    mode,
    time_limit_ms: request.time_limit_ms ?? limit("time_limit_ms"),
    output_limit_bytes: request.output_limit_bytes ?? limit("output_limit_bytes"),
  };
}

const shellSyntax = /[;&|<>()`$\\\r\n]/;

const shellSeparators = /(?:\\\r?\n|[\s;&|<>()`"'$])+/;

/** Whether the words of a list's entry stand in the line one after the other, wherever, also behind `sudo` or in `bash -c "…"`. */
function holds(line: string, entry: string): boolean {
  const words = line.split(shellSeparators);
  const [program, ...rest] = wordsOf(entry);
  if (program === undefined) return false;
  // The program may be named with its folder.
  const isProgram = (word: string) => word.replace(/^.*[\\/]/, "") === program || word === program;
  return words.some((word, at) => isProgram(word) && rest.every((next, index) => words[at + 1 + index] === next));
}

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");

function begins(line: string, entry: string): boolean {
  const words = wordsOf(line);
  const leading = wordsOf(entry);
  return leading.length > 0 && leading.every((word, index) => words[index] === word);
}

const pathName = /(path|file|dir|directory|directories|folder|cwd)s?$/i;
const diffName = /(diff|patch)$/i;

/** Every path that arguments name, at any depth. */
function pathsIn(value: unknown, key = ""): string[] {
  if (typeof value === "string") return diffName.test(key) ? pathsOf(value) : pathName.test(key) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((item) => pathsIn(item, key));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => pathsIn(item, name));
}

/** The paths of a diff. Of one that cannot be read, all that stands where a path could. */
function pathsOf(diff: string): string[] {
  const reading = parsePatch(diff);
  if (reading.ok)
    return reading.patch.files.flatMap(({ before, after }) => [before, after].filter((path) => path !== null));
  const header =
    /^(?:---|\+\+\+|(?:rename|copy) (?:from|to)|\*\*\* (?:\w+ )?File:|\*\*\* Move to:) "?(?:[ab]\/)?([^\t\r\n"]*)/gm;
  return [...diff.matchAll(header)].map(([, path]) => path!).filter((path) => path !== "/dev/null");
}

/** Whether a path leads out of the workspace, as any system may read it. */
export function leavesWorkspace(path: string, root?: string): boolean {
  if (path.includes("\0")) return true;
  if (root !== undefined && isAbsolute(root)) {
    const base = root.replace(/[\\/]+$/, "");
    if (path === base) return false;
    if (path.startsWith(`${base}/`) || path.startsWith(`${base}\\`)) return climbs(path.slice(base.length + 1));
  }
  return isAbsolute(path) || /^(~|[a-z][a-z0-9+-]*:\/\/)/i.test(path) || climbs(path);
}

const isAbsolute = (path: string): boolean => /^([\\/]|[A-Za-z]:)/.test(path);

function climbs(path: string): boolean {
  let depth = 0;
  for (const part of path.split(/[\\/]/)) {
    // Windows takes dots and spaces off the end of a name.
    if (/^\.\.[. ]*$/.test(part)) depth--;
    else if (part !== "" && part !== ".") depth++;
    if (depth < 0) return true;
  }
  return false;
}
