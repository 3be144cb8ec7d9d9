import type { App } from "@parlance/server";
import { listen } from "@parlance/server/node";
import { talkAgentsmithy } from "../agentsmithy/client.js";
import { serveAgentsmithy } from "../agentsmithy/server.js";
import { talkAgentsmithy1_13 } from "../agentsmithy-1.13/client.js";
import { serveAgentsmithy1_13 } from "../agentsmithy-1.13/server.js";
import { talkBased } from "../based/client.js";
import { serveBased } from "../based/server.js";
import { talkCoven } from "../coven/client.js";
import { serveCoven } from "../coven/server.js";
import { talkEmacsAgent } from "../emacs-agent/client.js";
import { serveEmacsAgent } from "../emacs-agent/server.js";
import { talkFoldGateway } from "../fold-gateway/client.js";
import { serveFoldGateway } from "../fold-gateway/server.js";
import { talkLoco } from "../loco/client.js";
import { serveLoco, TOKEN } from "../loco/server.js";
import { talkLocoApp } from "../loco-app/client.js";
import { TOKEN as APP_TOKEN, serveLocoApp } from "../loco-app/server.js";
import { checkRenamed, PROMPT } from "./check.js";
import { meter } from "./meter.js";
import { isAlive, starters } from "./starters.js";
import type { Print, Story } from "./story.js";
import { copyWorkspace, type Workspace } from "./workspace.js";

interface Protocol {
  readonly carrier: string;
  readonly serve: (workspace: Workspace) => App;
  readonly talk: (story: Story) => Promise<void>;
  /** A line to try by hand. */
  readonly hint: (url: string) => string;
  readonly token?: string;
}

const json = (body: unknown) => `-H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`;

const protocols: Record<string, Protocol> = {
  agentsmithy: {
    carrier: "SSE in POST",
    serve: serveAgentsmithy,
    talk: talkAgentsmithy,
    hint: (url) => `curl -N ${url}/api/chat ${json({ messages: [{ role: "user", content: PROMPT }], stream: true })}`,
  },
  "agentsmithy-1.13": {
    carrier: "HTTP + SSE in POST",
    serve: serveAgentsmithy1_13,
    talk: talkAgentsmithy1_13,
    hint: (url) => `curl -N ${url}/api/chat ${json({ messages: [{ role: "user", content: PROMPT }], stream: true })}`,
  },
  loco: {
    carrier: "HTTP + WebSocket",
    serve: serveLoco,
    talk: talkLoco,
    token: TOKEN,
    hint: (url) => `curl ${url}/v1/workspaces/register -H 'Authorization: Bearer ${TOKEN}' ${json({ path: "." })}`,
  },
  "emacs-agent": {
    carrier: "HTTP + SSE",
    serve: serveEmacsAgent,
    talk: talkEmacsAgent,
    hint: (url) => `curl ${url}/api/sessions ${json({ project_path: "." })}`,
  },
  based: {
    carrier: "WebSocket",
    serve: serveBased,
    talk: talkBased,
    hint: (url) =>
      `node -e 'const socket = new (require("ws"))("${url.replace(/^http/, "ws")}/ws"); socket.on("message", (text) => console.log(String(text)))'`,
  },
  "fold-gateway": {
    carrier: "SSE in POST",
    serve: serveFoldGateway,
    talk: talkFoldGateway,
    hint: (url) => `curl -N ${url}/api/send ${json({ content: PROMPT })}`,
  },
  coven: {
    carrier: "SSE in POST",
    serve: serveCoven,
    talk: talkCoven,
    hint: (url) => `curl -N ${url}/api/send ${json({ content: PROMPT, sender: "me", agent_id: "1" })}`,
  },
  "loco-app": {
    carrier: "HTTP + WebSocket",
    serve: serveLocoApp,
    talk: talkLocoApp,
    token: APP_TOKEN,
    hint: (url) => `curl ${url}/v1/health -H 'Authorization: Bearer ${APP_TOKEN}'`,
  },
};

/** The port of the first protocol with `--serve`; the others follow in their order. */
const FIRST_PORT = 4870;

const args = process.argv.slice(2);
const chosen = args.filter((arg) => !arg.startsWith("--"));
const unknown = [
  ...chosen.filter((name) => !protocols[name]),
  ...args.filter((arg) => arg.startsWith("--") && arg !== "--serve" && arg !== "--inspect"),
];
if (unknown.length > 0) {
  console.error(
    `unknown: ${unknown.join(", ")}. Usage: demo [--serve | --inspect] [${Object.keys(protocols).join(" | ")}]`,
  );
  process.exit(2);
}
const names = chosen.length > 0 ? chosen : Object.keys(protocols);
await (args.includes("--inspect") ? look(chosen[0] ?? "loco") : args.includes("--serve") ? stay(names) : tell(names));

/** Each conversation in turn, on a workspace of its own, and a table of them. */
async function tell(names: readonly string[]): Promise<void> {
  const rows: string[][] = [["protocol", "carrier", "messages", "bytes", "ms", "files changed"]];
  for (const name of names) {
    const { carrier, serve, talk } = protocols[name]!;
    const workspace = await copyWorkspace();
    const server = await listen(serve(workspace), { port: 0 });
    const counted = meter();
    console.log(`\n── ${name} (${carrier}) at ${server.url}`);
    const start = performance.now();
    try {
      await talk({ baseUrl: server.url, connection: counted.connection, workspace, prompt: PROMPT, print: printer() });
      const files = await checkRenamed(workspace);
      const ms = (performance.now() - start).toFixed(0);
      rows.push([name, carrier, String(counted.messages), String(counted.bytes), ms, String(files)]);
    } catch (error) {
      console.error(`\n  ✗ ${name}: ${(error as Error).stack}`);
      rows.push([name, carrier, "-", "-", "-", "FAILED"]);
      process.exitCode = 1;
    } finally {
      await server.close();
      await workspace.remove();
    }
  }
  console.log(`\n${table(rows)}`);
}

/** The servers alone, until the process is interrupted or terminated. */
async function stay(names: readonly string[]): Promise<void> {
  const workspace = await copyWorkspace();
  console.log(`workspace: ${workspace.root}`);
  const servers = await Promise.all(
    names.map(async (name) => {
      const port = FIRST_PORT + Object.keys(protocols).indexOf(name);
      return [name, await listen(protocols[name]!.serve(workspace), { port })] as const;
    }),
  ).catch(async (error) => {
    await workspace.remove();
    throw error;
  });
  for (const [name, { url }] of servers) console.log(`\n${name}\n  ${protocols[name]!.hint(url)}`);
  console.log("\nCtrl-C ends them.");
  await interrupted();
  await Promise.all(servers.map(([, server]) => server.close()));
  await workspace.remove();
}

/** One conversation on the inspector's page, which stays until the process is interrupted or terminated. */
async function look(name: string): Promise<void> {
  const { serve, talk, token } = protocols[name]!;
  // Nothing else of the demo needs the inspector, which is for Node.
  const { lookAt } = await import("./look.js");
  const workspace = await copyWorkspace();
  const server = await listen(serve(workspace), { port: 0 });
  const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const inspector = await lookAt(name, server.url, workspace.root, headers);
  const { connection } = meter();
  await talk({ baseUrl: inspector.proxy!, connection, workspace, prompt: PROMPT, print: printer() });
  console.log(`\nOpen ${inspector.url}\nA client of your own may connect to ${inspector.proxy}. Ctrl-C ends it.`);
  await interrupted();
  await inspector.close();
  await server.close();
  await workspace.remove();
}

/** Resolves when the process is interrupted, terminated, or left by the program that started it. */
function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
    const started = starters();
    setInterval(() => started.every(isAlive) || resolve(), 500).unref();
  });
}

function printer(): Print {
  let inText = false;
  return {
    text(text) {
      process.stdout.write(inText ? text : `  ${text}`);
      inText = !text.endsWith("\n");
    },
    note(what) {
      console.log(`${inText ? "\n" : ""}  · ${what}`);
      inText = false;
    },
  };
}

function table(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
        .join("  "),
    )
    .join("\n");
}
