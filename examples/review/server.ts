import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type Patch, parseEdits, selectHunks } from "@parlance/edits";
import { applyPlan, planEdits, undo, type Written } from "@parlance/edits/node";
import { renderPage } from "./render.js";

export interface Review {
  readonly url: string;
  close(): Promise<void>;
}

interface Answer {
  readonly ok: boolean;
  readonly text: string;
}

const files: Record<string, readonly [type: string, file: string]> = {
  "/page.js": ["text/javascript", new URL("./page.js", import.meta.url).pathname],
  "/page.css": ["text/css", new URL("./page.css", import.meta.url).pathname],
  "/diff2html.css": ["text/css", createRequire(import.meta.url).resolve("diff2html/bundles/css/diff2html.min.css")],
};

/** Serves the review of a model's edits on the loopback interface. Nothing is written before the user applies it. */
export async function startReview(root: string, answer: string, port = 0): Promise<Review> {
  const reading = parseEdits(answer);
  if (!reading.ok) throw new Error(reading.errors.map(({ line, message }) => `${line}: ${message}`).join("\n"));
  const plan = await planEdits(reading.patch, { root });
  let written: Written | undefined;

  /** The ticked hunks of the preview. That is a patch of what is on disk, so any part of it applies to just that. */
  async function apply(hunks: readonly string[]): Promise<Answer> {
    const chosen: Patch = {
      files: plan.preview.files.flatMap((file, index) => {
        const ids = hunks
          .filter((value) => value.startsWith(`${index}:`))
          .map((value) => value.slice(`${index}:`.length));
        return ids.length === 0 ? [] : selectHunks({ files: [file] }, ids).files;
      }),
    };
    const result = await applyPlan(await planEdits(chosen, { root }), { root });
    if (!result.ok) return { ok: false, text: result.conflicts.map(({ message }) => message).join("\n") };
    written = result;
    return { ok: true, text: `Applied: ${result.files.map(({ path }) => path).join(", ")}` };
  }

  async function takeBack(): Promise<Answer> {
    if (!written) return { ok: false, text: "There is nothing to undo." };
    const result = await undo(written, { root });
    if (!result.ok) return { ok: false, text: result.conflicts.map(({ message }) => message).join("\n") };
    written = undefined;
    return { ok: true, text: `Undone: ${result.files.map(({ path }) => path).join(", ")}` };
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "/" } = request;
    const refusal = refuse(request);
    if (refusal) return send(response, 403, "text/plain", refusal);
    const file = files[url];
    if (method === "GET" && url === "/") return send(response, 200, "text/html", renderPage(plan));
    if (method === "GET" && file) return send(response, 200, file[0], await readFile(file[1]));
    if (method !== "POST") return send(response, 404, "text/plain", "Not here.");
    const hunks = readHunks(await text(request));
    if (url === "/apply" && hunks) return send(response, 200, "application/json", JSON.stringify(await apply(hunks)));
    if (url === "/undo") return send(response, 200, "application/json", JSON.stringify(await takeBack()));
    send(response, 400, "text/plain", "Say which hunks.");
  }

  const server = createServer((request, response) => {
    respond(request, response).catch((error) => send(response, 500, "text/plain", String(error)));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: `http://${host}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };

  /**
   * Any page in the same browser can reach this port. The Host header reveals another name that points here
   * (DNS rebinding), and the Origin header another page's request.
   */
  function refuse({ method, headers }: IncomingMessage): string | null {
    if (headers.host !== host) return `This is ${host}.`;
    if (method === "GET") return null;
    if (headers.origin !== `http://${host}`) return "Only this page may change files.";
    return headers["content-type"] === "application/json" ? null : "Send application/json.";
  }
}

function readHunks(body: string): string[] | null {
  try {
    const { hunks } = JSON.parse(body);
    return Array.isArray(hunks) && hunks.every((hunk) => typeof hunk === "string") ? hunks : null;
  } catch {
    return null;
  }
}

function send(response: ServerResponse, status: number, type: string, body: string | Uint8Array): void {
  response.writeHead(status, {
    "Content-Type": `${type}; charset=utf-8`,
    "Content-Security-Policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
  });
  response.end(body);
}
