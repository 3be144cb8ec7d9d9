import type { FeedLine } from "../row.js";

/** The token is in the fragment, which is sent nowhere; it is kept for a reload of this tab only. */
const TOKEN = new URLSearchParams(location.hash.slice(1)).get("token") ?? sessionStorage.getItem("token") ?? "";
sessionStorage.setItem("token", TOKEN);
history.replaceState(null, "", location.pathname);

const authorized = { Authorization: `Bearer ${TOKEN}` };

async function answered<T>(response: Response): Promise<T> {
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  let words = text;
  try {
    words = JSON.parse(text).error;
  } catch {
    // Plain text.
  }
  throw new Error(words);
}

export async function get<T>(path: string, query: Readonly<Record<string, string | number>> = {}): Promise<T> {
  return answered(await fetch(withQuery(path, query), { headers: authorized }));
}

export async function post<T>(path: string, body: object): Promise<T> {
  const headers = { ...authorized, "Content-Type": "application/json" };
  return answered(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

export async function upload<T>(path: string, name: string, file: Blob): Promise<T> {
  return answered(await fetch(withQuery(path, { name }), { method: "POST", headers: authorized, body: file }));
}

export async function download(path: string, query: Readonly<Record<string, string>>, name: string): Promise<void> {
  const response = await fetch(withQuery(path, query), { headers: authorized });
  if (!response.ok) await answered(response);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Reads a log's feed until the signal aborts; lines of one chunk come together. */
export async function readFeed(log: string, signal: AbortSignal, take: (lines: FeedLine[]) => void): Promise<void> {
  const response = await fetch(withQuery("/api/feed", { log }), { headers: authorized, signal });
  if (!response.ok || !response.body) throw new Error("the feed cannot be read");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop()!;
    if (lines.length > 0) take(lines.map((line) => JSON.parse(line)));
  }
}

function withQuery(path: string, query: Readonly<Record<string, string | number>>): string {
  const search = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]));
  return search.size > 0 ? `${path}?${search}` : path;
}
