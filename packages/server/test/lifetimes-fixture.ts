import { type EmacsAgentHandlers, emacsAgent } from "@parlance/protocols/emacs-agent";
import { type App, bearer, type ServeOptions, serve } from "@parlance/server";
import { newKey, RESUME } from "@parlance/wire";
import { expect, vi } from "vitest";

// What was held too long, released too early, or shared with the wrong caller.

export type Handlers = Partial<EmacsAgentHandlers>;

/** An agent whose `prompt` sends its text to the session, and whose `events` has no message of its own. */
export function agent(options: ServeOptions = {}, handlers: Handlers = {}): App {
  const all: Handlers = {
    prompt({ session_id, text }, { session }) {
      session(session_id).send({ type: "message.delta", content: text, role: "assistant" });
      return { status: "accepted", agent_state: "thinking" };
    },
    async *events() {},
    ...handlers,
  };
  return serve(emacsAgent, all as EmacsAgentHandlers, { heartbeat: 0, ...options });
}

export interface Asking {
  readonly token?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly method?: string;
}

export function requestOf(path: string, { token, headers, ...init }: Asking = {}, body?: object): Request {
  return new Request(`http://localhost/api/sessions/s${path}`, {
    ...(body && { method: "POST", body: JSON.stringify(body) }),
    headers: {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...init,
  });
}

export const prompt = async (app: App, text: string, asking?: Asking) =>
  expect((await app.fetch(requestOf("/prompt", asking, { text }))).status).toBe(200);

/** A reader of the session's stream. */
export async function reader(app: App, asking?: Asking) {
  const response = await app.fetch(requestOf("/events", asking));
  let text = "";
  const body = response.body!.getReader();
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for (let step = await body.read(); !step.done; step = await body.read()) text += decoder.decode(step.value);
  };
  read().catch(() => {});
  const contents = () => [...text.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content);
  return {
    response,
    id: () => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1],
    contents,
    gets: (...wanted: string[]) => vi.waitFor(() => expect(contents()).toEqual(wanted), { timeout: 10_000 }),
    detach: () => body.cancel(),
  };
}

export const principals = { authenticate: bearer({ a: "A", b: "B" }) };
export const key = (value = newKey()) => ({ headers: { [RESUME]: value } });
