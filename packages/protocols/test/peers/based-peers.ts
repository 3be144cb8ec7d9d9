import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";

// biome-ignore lint/suspicious/noExplicitAny: both peers take what comes
type Message = Record<string, any>;

/** Python's `json.dumps` with its defaults: a space after each colon and comma outside of strings, and ASCII only. */
const dumps = (value: unknown): string =>
  JSON.stringify(value, null, 1)
    .replace(/\n */g, " ")
    .replace(/([[{]) | ([\]}])/g, "$1$2")
    .replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The patch engine of Based's server: no context is checked, and a last line without its end takes the next one. */
export function patched(code: string, diff: string): string {
  const lines = code.split(/(?<=\n)/);
  const out: string[] = [];
  let at = 0;
  for (const line of diff.split(/(?<=\n)/)) {
    if (/^(---|\+\+\+)/.test(line)) continue;
    const hunk = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@\n?$/.exec(line);
    if (hunk) {
      const start = Number(hunk[1]) - 1;
      out.push(...lines.slice(at, start));
      at = start;
    } else if (/^(@@|diff --git|index )/.test(line)) throw new Error(`Invalid diff line: ${line.trimEnd()}`);
    else if (line.startsWith("+")) out.push(line.slice(1));
    else if (line.startsWith("-")) at++;
    else if (line.startsWith(" ")) {
      out.push(line.slice(1));
      at++;
    }
  }
  return [...out, ...lines.slice(at)].join("");
}

const created = "state counter = 0\nfn add(n) {\n  counter += n\n}\n";
/** The model's text: no fences, and no line feed at the end. */
const renaming = "--- a/counter.based\n+++ b/counter.based\n@@ -2,1 +2,1 @@\n-fn add(n) {\n+fn sum(n) {";

/** Based's server: requests wait for each other, and most errors name no action. */
export async function basedServer(): Promise<string> {
  const server = createServer((_, response) => response.writeHead(404).end());
  const sockets = new WebSocketServer({ server, path: "/ws" });
  sockets.on("connection", (socket) => {
    const files = new Map<string, string>();
    const say = (body: object) => socket.send(dumps(body));
    const succeed = (action: string, body: object) => say({ status: "success", action, ...body });
    const fail = (error: string) => say({ status: "error", error });
    succeed("initial_state", { files: [], activeFile: null });

    function create(): void {
      files.set("counter.based", created);
      succeed("file_created", { filename: "counter.based", content: created, files: [...files.keys()] });
    }

    const actions: Record<string, (message: Message) => void> = {
      prompt({ prompt, activeFile }) {
        if (!prompt) return fail("Missing prompt");
        // Without files there is nothing to edit: one is created.
        if (/create/.test(prompt) || files.size === 0) return create();
        const old_code = files.get(activeFile);
        if (old_code === undefined)
          return fail(`Please select a file to edit. Active file '${activeFile}' not found or invalid.`);
        const new_code = patched(old_code, `${renaming}\n`);
        succeed("diff_generated", { filename: activeFile, diff: renaming, old_code, new_code });
      },
      apply_diff({ filename, diff }) {
        const code = files.get(filename);
        if (code === undefined) return fail(`File not found: ${filename}`);
        try {
          files.set(filename, patched(code, diff));
        } catch (error) {
          return fail(`Patch failed: ${(error as Error).message}`);
        }
        succeed("diff_applied", { filename, new_code: files.get(filename) });
      },
      upload_file({ filename, content }) {
        files.set(filename, content);
        succeed("file_uploaded", { filename, files: [...files.keys()] });
      },
      list_files: () => succeed("file_list", { files: [...files.keys()] }),
      read_file: ({ filename }) =>
        files.has(filename)
          ? succeed("file_content", { filename, content: files.get(filename) })
          : fail("File not found"),
    };
    socket.on("message", (data) => {
      let message: Message;
      try {
        message = JSON.parse(String(data));
      } catch {
        return fail("Invalid JSON");
      }
      const act = actions[message.action];
      if (act) act(message);
      else say({ status: "error", action: message.action, error: `Unknown action: ${message.action}` });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate();
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What Based's frontend has shown. */
export interface Shown {
  readonly files: readonly string[];
  readonly editor: string;
  readonly errors: readonly string[];
  readonly actions: readonly string[];
}

/**
 * Based's frontend: it sends `activeFile: null` and a plain string as context, and each of its steps is an answer to the last message. It
 * reviews a diff by `new_code` and sends it back as it came.
 */
export function basedFrontend(url: string): Promise<Shown> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws`, { origin: url });
  onTestFinished(() => socket.terminate());
  const shown = { files: [] as string[], editor: "", errors: [] as string[], actions: [] as string[] };
  const say = (action: string, body: object = {}) => socket.send(JSON.stringify({ action, ...body }));
  const prompt = (text: string, activeFile: string | null) => say("prompt", { prompt: text, context: "", activeFile });
  const next: Record<string, (message: Message) => void> = {
    initial_state: () => prompt("make the counter blue", null),
    edit_error: () => prompt("create a simple counter agent", null),
    file_created: ({ filename }) => prompt("rename add to sum", filename),
    diff_generated: ({ filename, diff }) => say("apply_diff", { filename, diff }),
    diff_applied: () => say("upload_file", { filename: "b.based", content: "é\r\n" }),
    file_uploaded: () => say("list_files"),
    file_list: () => say("read_file", { filename: "none.based" }),
    read_file: () => say("dance"),
    dance: () => socket.close(),
  };
  return new Promise((resolve, reject) => {
    socket.on("unexpected-response", (_, response) => reject(new Error(`refused with ${response.statusCode}`)));
    socket.on("error", reject);
    socket.on("close", () => resolve(shown));
    socket.on("message", (data) => {
      const message: Message = JSON.parse(String(data));
      shown.actions.push(message.action);
      if (message.status === "error") shown.errors.push(message.error);
      if (message.files) shown.files = message.files;
      shown.editor = message.new_code ?? message.content ?? shown.editor;
      next[message.action]?.(message);
    });
  });
}
