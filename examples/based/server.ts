import { based, type SessionClientMessage, type SessionServerMessage } from "@parlance/protocols/based";
import { type App, serve } from "@parlance/server";
import { type Think, think } from "../demo/agent.js";
import { applyDiff, type Workspace } from "../demo/workspace.js";

/** The agent, with one socket a user. Each session has its own files: uploaded, changed here, and read back. */
export function serveBased(_workspace?: Workspace, thinking: Think = think): App {
  return serve(based, {
    async session(_, channel) {
      const files = new Map<string, string>();
      channel.send({ type: "initial_state", files: [], activeFile: null });
      // One message after the other; the runtime rejects a second prompt or diff meanwhile, and answers for an agent that fails.
      await channel.handle((message) => channel.send(answer(files, message, thinking)));
    },
  });
}

function answer(files: Map<string, string>, message: SessionClientMessage, thinking: Think): SessionServerMessage {
  switch (message.type) {
    case "prompt": {
      // The intent: creates a file if there is none to edit yet, or on request.
      if (files.size === 0 || /^\s*create\b/i.test(message.prompt)) return create(files, message.prompt);
      const code = files.get(message.activeFile ?? "");
      if (message.activeFile === undefined || code === undefined)
        return {
          type: "edit_error",
          error: `Please select a file to edit. Active file '${message.activeFile}' not found or invalid.`,
        };
      const filename = message.activeFile;
      const steps = thinking(message.prompt, new Map([[filename, code]]));
      const edit = [...steps].flatMap((step) => (step.does === "edit" ? [step.edit] : []))[0];
      return {
        type: "diff_generated",
        filename,
        diff: edit?.diff ?? "",
        new_code: edit?.after ?? code,
        old_code: code,
      };
    }
    case "apply_diff": {
      const code = files.get(message.filename);
      if (code === undefined) return { type: "apply_diff_error", error: `File not found: ${message.filename}` };
      const applied = applyDiff(message.filename, message.diff, code);
      if (!applied.ok) return { type: "apply_diff_error", error: `Patch failed: ${applied.reason}` };
      files.set(message.filename, applied.text);
      return { type: "diff_applied", filename: message.filename, new_code: applied.text };
    }
    case "upload_file":
      files.set(message.filename, message.content);
      return { type: "file_uploaded", filename: message.filename, files: [...files.keys()] };
    case "list_files":
      return { type: "file_list", files: [...files.keys()] };
    case "read_file": {
      const content = files.get(message.filename);
      if (content === undefined) return { type: "read_file_error", error: "File not found" };
      return { type: "file_content", filename: message.filename, content };
    }
  }
}

function create(files: Map<string, string>, prompt: string): SessionServerMessage {
  const words = prompt.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const name =
    words
      .filter((word) => !/^(please|create|a|an|the)$/.test(word))
      .join("-")
      .slice(0, 60) || "agent";
  let filename = `${name}.based`;
  for (let next = 2; files.has(filename); next++) filename = `${name}-${next}.based`;
  const content = `// ${prompt.replace(/\s+/g, " ").trim()}\n`;
  files.set(filename, content);
  return { type: "file_created", filename, content, files: [...files.keys()] };
}
