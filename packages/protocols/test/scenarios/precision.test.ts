import type { Json, SchemaObject } from "@parlance/wire";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { subschemas } from "../../../language/src/walk.js";
import { subjects } from "../contracts.js";

// The documents imply the form of ids, paths, times and places, and which properties exclude each other.

const five = ["agentsmithy", "based", "emacs-agent", "fold-gateway", "loco"];
const documents = subjects.flatMap(({ contract, document }) => (five.includes(contract.name) ? [document] : []));

/** What a property's name promises, and the keyword that holds it. */
const promises: readonly [name: RegExp, type: string, keyword: string][] = [
  [/^(?:id|.*_id|path|.*_path|filename|file|activeFile)$/, "string", "minLength"],
  [/^(?:timestamp|.*_at)$/, "string", "format"],
  [
    /^(?:line|line_start|line_end|column|character|start|end|.*_(?:start|lines|number|step|steps|count|used|ms|bytes))$/,
    "integer",
    "minimum",
  ],
];
/** Not so, and why. */
const excepted = new Set([
  // Clients of today upload a file that has no name yet.
  "based UploadFileMessage.filename",
]);

describe.each(documents.map((document) => [document.contract.name, document] as const))(
  "In %s",
  (name, { schemas }) => {
    test("every id and path is not empty, every time is one, and every place is not negative", () => {
      let checked = 0;
      const loose: string[] = [];
      for (const [title, root] of Object.entries(schemas))
        for (const { schema } of subschemas(root))
          for (const [key, property] of Object.entries((schema.properties ?? {}) as Record<string, SchemaObject>))
            for (const one of [property, ...((property.anyOf ?? []) as SchemaObject[])])
              for (const [promised, type, keyword] of promises) {
                if (!promised.test(key) || one.type !== type) continue;
                checked++;
                const place = `${name} ${title}.${key}`;
                if (!(keyword in one) && !excepted.has(place)) loose.push(`${place} has no ${keyword}`);
              }
      expect(loose).toEqual([]);
      expect(checked).toBeGreaterThan(1);
    });
  },
);

const hash = "sha256:00";
const change = { type: "modified", file_path: "a", content_hash: hash };
const applied = { type: "client.patch_apply_result", patch_id: "p", file_path: "a", success: true, applied_hash: hash };
const failed = { ...applied, success: false, applied_hash: undefined, error: { message: "no", type: "conflict" } };
const response = { type: "client.approval_response", request_id: "r", approved: true, scope: "all" };
const result = { type: "tool.result", tool_call_id: "t", status: "success", result: "" };
const command = {
  type: "client.command_result",
  command_id: "c",
  command: "make",
  exit_code: 0,
  stdout: "",
  stderr: "",
  duration_ms: 1,
};
const ask = { type: "command.request_approval", command_id: "c", command: "make", requires_approval: true, reason: "" };
const patch = {
  type: "patch.proposed",
  patch_id: "p",
  file_path: "a",
  diff: "",
  rationale: "",
  acceptance_criteria: [],
  requires_approval: true,
  hunks: [],
};
const status = { type: "agent.retrieve.status", stage: "reranking", results_count: 0, message: "" };
const hunk = { old_start: 1, old_lines: 0, new_start: 1, new_lines: 0, content: "" };
const chat = { messages: [{ role: "user", content: "x" }], stream: true };

/** A schema, what it takes, and changes of that, none of which it takes. */
const rules: readonly [protocol: string, schema: string, right: object, wrong: Readonly<Record<string, object>>][] = [
  ["agentsmithy", "ChatBody", chat, { "no turn": { messages: [] } }],
  [
    "emacs-agent",
    "ToolResult",
    result,
    { "an error without its message": { status: "error", result: undefined }, "another status": { status: "done" } },
  ],
  [
    "loco",
    "PatchApplyResultMessage",
    applied,
    {
      "a success with an error": { error: { message: "no", type: "conflict" } },
      "a success without the file's hash": { applied_hash: undefined },
      "a failure without an error": { success: false },
    },
  ],
  ["loco", "PatchApplyResultMessage", failed, { "a failure whose error is null": { error: null } }],
  ["loco", "FileChange", change, { "a change without its hash": { content_hash: undefined } }],
  [
    "loco",
    "FileChange",
    { ...change, type: "deleted", content_hash: undefined },
    { "another kind": { type: "moved" } },
  ],
  [
    "loco",
    "ApprovalResponseMessage",
    response,
    { "a file without its path": { scope: "file" }, "no scope": { scope: undefined } },
  ],
  ["loco", "CommandResultMessage", command, without(command, ["stdout", "stderr", "duration_ms", "exit_code"])],
  ["loco", "CommandApprovalRequestMessage", ask, without(ask, ["requires_approval", "reason"])],
  [
    "loco",
    "PatchProposedMessage",
    patch,
    without(patch, ["hunks", "rationale", "acceptance_criteria", "requires_approval"]),
  ],
  ["loco", "RetrieveStatusMessage", status, without(status, ["results_count", "message"])],
  ["loco", "PatchHunk", hunk, without(hunk, Object.keys(hunk))],
];

/** Changes that leave one property out. */
function without(right: object, names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.filter((name) => name in right).map((name) => [`no ${name}`, { [name]: undefined }]));
}

test.each(rules)("%s: %s %j has its exact form", (protocol, title, right, wrong) => {
  const { schemas } = documents.find(({ contract }) => contract.name === protocol)!;
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  for (const schema of Object.values(schemas)) ajv.addSchema(schema);
  const check = ajv.getSchema(String(schemas[title]!.$id))!;
  const sent = (value: object) => JSON.parse(JSON.stringify(value)) as Json;
  expect([check(sent(right)), check.errors]).toEqual([true, null]);
  const taken = Object.entries(wrong).filter(([, other]) => check(sent({ ...right, ...other })));
  expect(taken.map(([what]) => what)).toEqual([]);
});
