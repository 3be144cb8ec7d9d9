import { pathToFileURL } from "node:url";
import { webSocket } from "@parlance/client/node";
import type { App } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { checkRenamed, PROMPT } from "./check.js";
import type { Story } from "./story.js";
import { copyWorkspace, type Workspace } from "./workspace.js";

/** Runs one example if its file is the program: its own server and workspace, and a check of the files at the end. */
export async function runAlone(
  url: string,
  serveIt: (workspace: Workspace) => App,
  talk: (story: Story) => Promise<void>,
): Promise<void> {
  if (url !== pathToFileURL(process.argv[1] ?? "").href) return;
  const workspace = await copyWorkspace();
  const server = await listen(serveIt(workspace), { port: 0 });
  const print = {
    text: (text: string) => void process.stdout.write(text),
    note: (what: string) => console.log(`\n  · ${what}`),
  };
  try {
    await talk({ baseUrl: server.url, workspace, prompt: PROMPT, print, connection: { webSocket } });
    console.log(`${await checkRenamed(workspace)} files changed, as they should`);
  } finally {
    await server.close();
    await workspace.remove();
  }
}
