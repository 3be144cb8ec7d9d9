import { connect } from "@parlance/client";
import { based } from "@parlance/protocols/based";
import { runAlone } from "../demo/alone.js";
import type { Story } from "../demo/story.js";
import { serveBased } from "./server.js";

/** Uploads the workspace, prompts for one file after the other, and lets the server apply what it proposes. */
export async function talkBased({ baseUrl, connection, workspace, prompt, print }: Story): Promise<void> {
  await using session = await connect(based, { baseUrl, ...connection }).session();
  const files = await workspace.files();
  for (const [filename, content] of files) await session.ask({ type: "upload_file", filename, content });
  const list = await session.ask({ type: "list_files" });
  print.note(`uploaded ${list.type === "file_list" ? list.files.join(", ") : list.error}`);

  for (const filename of files.keys()) {
    const proposal = await session.ask({ type: "prompt", prompt, activeFile: filename });
    if (proposal.type === "file_created") {
      const created = await workspace.write(proposal.filename, proposal.content);
      print.note(created.ok ? `created ${proposal.filename}` : `refused a file: ${created.reason}`);
      continue;
    }
    if (proposal.type !== "diff_generated") throw new Error(JSON.stringify(proposal));
    // It is a success even when there is nothing to change.
    if (proposal.diff === "") continue;
    print.text(proposal.diff);
    const applied = await session.ask({ type: "apply_diff", filename, diff: proposal.diff });
    if (applied.type !== "diff_applied") throw new Error(applied.error);
    if (applied.new_code !== proposal.new_code) throw new Error(`${filename} is not what the preview said`);
    const written = await workspace.write(filename, applied.new_code);
    if (!written.ok) throw new Error(written.reason);
    print.note(`the server applied ${filename}`);
  }
}

await runAlone(import.meta.url, serveBased, talkBased);
