import type { Json } from "@parlance/wire";

/** Places that the documents leave to tools, errors and clients to fill. */
export const free = /^\/(?:args|params|result|error\/details|updates\/terminal_output|context\/\d+)\//;

export const TIME = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

const KINDS = ["leftOut", "empty", "zero", "negative"] as const;
type Fields = Readonly<Record<string, Json>>;
type Kind = (typeof KINDS)[number];

/** Properties of the documents' samples that may be left out, empty, 0 or negative, by their object. No other may. */
const bounds: Readonly<Record<string, Readonly<Partial<Record<Kind, string>>>>> = {
  agentsmithy: {
    leftOut: `
      ChatBody: context stream
      ChatBody/context: current_file open_files
      ChatBody/context/current_file: language content selection
      ChatBody/context/open_files: language content`,
    empty: `
      ChatBody/messages: role content
      ChatBody/context/current_file: language content selection
      ChatBody/context: open_files
      ChatBody/context/open_files: language content
      ClassificationMessage: task_type
      ContentMessage: content
      DiffMessage: diff reason
      ErrorMessage: error`,
  },
  based: {
    leftOut: `
      PromptMessage: context activeFile
      ErrorMessage: action`,
    empty: `
      InitialStateMessage: files
      PromptMessage: context
      FileCreatedMessage: content files
      DiffGeneratedMessage: diff new_code old_code
      EditErrorMessage: error
      ApplyDiffMessage: diff
      DiffAppliedMessage: new_code
      ApplyDiffErrorMessage: error
      UploadFileMessage: filename content
      FileUploadedMessage: files
      FileListMessage: files
      FileContentMessage: content
      ReadFileErrorMessage: error
      OperationRejectedMessage: error
      ErrorMessage: error action`,
  },
  "emacs-agent": {
    leftOut: `
      CreateSessionBody: model config
      CreateSessionBody/config: auto_approve_readonly save_transcript
      EndedSession: transcript_path
      PromptBody: context
      PromptBody/context: current_file cursor_position visible_region
      RejectBody: reason
      ToolResult: result
      AgentStateMessage: details
      ErrorMessage: code
      PromptAccepted: timestamp
      ToolTable/tools/parameters: path
      ToolTable/tools/parameters/path: required`,
    empty: `
      RejectBody: reason
      TranscriptList: transcripts
      TranscriptList/transcripts: files_changed
      MessageDelta: content
      FileChanged: operation
      AgentStateMessage: details
      ErrorMessage: message code
      ToolTable: tools
      ToolTable/tools: description
      ToolTable/tools/parameters/path: type
      FaultBody/error: code message`,
    zero: `
      SessionInfo: message_count
      PromptBody/context/cursor_position: column
      TranscriptList/transcripts: message_count
      Resumed: message_count`,
  },
  "fold-gateway": {
    leftOut: `
      SendBody: sender thread_id agent_id`,
    empty: `
      : Agents
      Agents: capabilities
      SendBody: sender
      ThinkingMessage: text
      TextMessage: text
      ToolUseMessage: input_json
      ToolResultMessage: output
      DoneMessage: full_response
      FaultBody: error
      ErrorMessage: error`,
  },
  loco: {
    leftOut: `
      UserMessage: context
      UserMessage/context: active_editor open_editors diagnostics terminal_output git_context mentions command
      UserMessage/context/active_editor: selection visible_range content_hash
      UserMessage/context/open_editors: is_dirty visible
      UserMessage/context/diagnostics: character source
      UserMessage/context/terminal_output: command exit_code stdout stderr timestamp
      UserMessage/context/git_context: branch staged_files modified_files recent_commits
      UserMessage/context/git_context/recent_commits: author timestamp
      UserMessage/context/mentions: file_path line
      ContextUpdateMessage/updates: diagnostics terminal_output
      ApprovalResponseMessage: file_path:all
      PatchApplyResultMessage: error
      CancelMessage: reason
      ServerHelloMessage/server_info: model capabilities
      ServerHelloMessage/server_info/model: capabilities
      ToolExecuteMessage: result
      CommandApprovalRequestMessage: working_directory environment
      CommandApprovalRequestMessage/environment: NODE_ENV
      TokenMessage: cumulative_text
      FinalMessage: metadata
      FinalMessage/metadata: tokens_used files_modified tools_used success
      ServerErrorMessage/error: recoverable
      SessionStateMessage/state: current_step total_steps
      FileChangesMessage/changes: timestamp content_hash:deleted`,
    empty: `
      ClientHelloMessage/client_info: name version capabilities
      UserMessage/context/active_editor: language
      UserMessage/context: open_editors diagnostics mentions
      UserMessage/context/diagnostics: message source
      UserMessage/context/terminal_output: stdout stderr
      UserMessage/context/git_context: branch staged_files modified_files recent_commits
      UserMessage/context/git_context/recent_commits: message author
      ContextUpdateMessage/updates: diagnostics
      CommandResultMessage: stdout stderr
      CancelMessage: reason
      ServerHelloMessage/server_info: version capabilities
      ServerHelloMessage/server_info/model: capabilities
      ThinkingMessage: message
      PlanMessage: steps rationale
      PlanMessage/steps: description files_involved
      RetrieveStatusMessage: message
      ToolExecuteMessage: tool_name
      PatchProposedMessage: diff rationale acceptance_criteria hunks
      PatchProposedMessage/hunks: content
      ToolApprovalRequestMessage: tool_name
      CommandApprovalRequestMessage: working_directory reason
      CommandApprovalRequestMessage/environment: NODE_ENV
      TokenMessage: token cumulative_text
      FinalMessage: message
      FinalMessage/metadata: tools_used
      ServerErrorMessage/error: message
      SessionStateMessage/state: pending_patches applied_patches pending_approvals
      FileChangesMessage: changes`,
    zero: `
      UserMessage/context/active_editor/selection/start: line character
      UserMessage/context/active_editor/selection/end: line character
      UserMessage/context/active_editor/visible_range: start end
      UserMessage/context/diagnostics: line character
      UserMessage/context/terminal_output: exit_code
      UserMessage/context/mentions: line
      CommandResultMessage: exit_code duration_ms
      RetrieveStatusMessage: results_count
      PatchProposedMessage/hunks: old_start old_lines new_start new_lines
      FinalMessage/metadata: tokens_used files_modified
      SessionStateMessage/state: current_step total_steps`,
    negative: `
      UserMessage/context/terminal_output: exit_code
      CommandResultMessage: exit_code`,
  },
};

/** Properties that are required or not by the value of another one. */
const VARIANTS: Readonly<Record<string, string>> = { file_path: "scope", content_hash: "type" };

/** The table's entries for a protocol, in the words of `gapsOf`. */
export function listedGaps(protocol: string): Set<string> {
  const lines = (kind: Kind) => bounds[protocol]?.[kind]?.trim().split("\n") ?? [];
  return new Set(
    KINDS.flatMap((kind) =>
      lines(kind).flatMap((line) => {
        const [place = "", names = ""] = line.trim().split(": ");
        return names.split(" ").map((name) => `${kind} ${place === "" ? name : `${place}/${name}`}`);
      }),
    ),
  );
}

/**
 * The properties of a sample that may be left out, empty, 0 or negative, such as `empty TextMessage/text`. A place is `odd` where a check accepts a
 * long text but no short one, no small number, or any text as a time: the documents have no such bound.
 */
export function gapsOf(says: string, json: Json, check: (json: Json) => boolean): string[] {
  const found = new Set<string>();
  const visit = (value: Json, replaced: (other: Json) => Json, at: string): void => {
    if (free.test(`${at}/`)) return;
    const accepts = (other: Json) => check(replaced(other));
    const add = (kind: Kind | "odd", is: boolean, place = at) => {
      if (is) found.add(`${kind} ${says}${place}`.replace(/\/\d+(?=\/|$)/g, ""));
    };
    if (typeof value === "string") {
      add("empty", accepts(""));
      add("odd", accepts("x") !== accepts("a longer text") || (TIME.test(value) && accepts("x") && !accepts(0)));
    }
    if (typeof value === "number") {
      add("zero", accepts(0));
      add("negative", accepts(-1));
      add("odd", !accepts(1));
    }
    if (Array.isArray(value)) {
      add("empty", accepts([]));
      for (const [index, item] of value.entries())
        visit(item, (other) => replaced(value.with(index, other)), `${at}/${index}`);
    } else if (typeof value === "object" && value !== null)
      for (const [key, inner] of Object.entries(value as Fields)) {
        const { [key]: _, ...rest } = value as Fields;
        const variant = (value as Fields)[VARIANTS[key] ?? ""];
        if (!free.test(`${at}/${key}`))
          add("leftOut", accepts(rest), `${at}/${key}${variant === undefined ? "" : `:${variant}`}`);
        visit(inner, (other) => replaced({ ...value, [key]: other }), `${at}/${key}`);
      }
  };
  visit(json, (other) => other, "");
  return [...found];
}
