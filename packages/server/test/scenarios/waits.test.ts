import { emacsAgent } from "@parlance/protocols/emacs-agent";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, serve } from "@parlance/server";
import { clusterOn, memoryPubSub, type PubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { newKey, RESUME } from "@parlance/wire";
import { expect, test, vi } from "vitest";

// A wait that comes to nothing is reported, with what was waited for and the limit of it.

const never = new Promise<never>(() => {});
const hangs = () => never;

async function* words() {
  yield { type: "done", full_response: "" };
}

type Make = (options: object) => App;
const fold =
  (options: object, handlers: object = {}): Make =>
  (more) =>
    serve(foldGateway, { health: () => "OK", ...handlers } as never, { partial: true, ...options, ...more } as never);

const get = (path: string, headers: Record<string, string> = {}) => [path, { headers }] as const;
const post = (path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  [
    path,
    {
      method: "POST",
      body,
      duplex: "half",
      headers: { "Content-Type": "application/json", ...headers },
    } as RequestInit,
  ] as const;
const health = get("/health");
const send = post("/api/send", '{"content":"x"}', { [RESUME]: newKey() });

const emacs =
  (pubSub: PubSub): Make =>
  (more) =>
    serve(
      emacsAgent,
      {
        async *events() {
          yield { type: "agent.state", state: "idle" };
        },
      } as never,
      { cluster: clusterOn(pubSub), ...more } as never,
    ) as App;
const events = get("/api/sessions/s/events");

/** Each wait of the server for something of its user's, as what is waited for, its limit and a request that waits. */
const WAITS: readonly (readonly [what: string, limit: string, make: Make, request: readonly [string, RequestInit]])[] =
  [
    ["authenticate", "authenticateWithin", fold({ authenticate: hangs }), health],
    ["hooks.request", "hookWithin", fold({ hooks: { request: hangs } }), health],
    ["the handler of health", "answerWithin", fold({}, { health: hangs }), health],
    ["the event log", "storeWithin", fold({ log: { ...memoryLog(), open: hangs } }, { send: words }), send],
    ["pub/sub", "storeWithin", emacs({ ...memoryPubSub(), publish: hangs }), events],
    ["subscribing", "storeWithin", emacs({ ...memoryPubSub(), subscribe: hangs }), events],
  ];

test.each(WAITS)("a wait for %s is reported with its name and limit", async (what, limit, make, [path, init]) => {
  const reported: string[] = [];
  const onError = (error: Error) => void reported.push(`${error.cause ?? error}`);
  const app = make({ [limit]: 7, onError });
  void app.fetch(new Request(`http://localhost${path}`, init)).catch(() => {});
  await vi.waitFor(() => expect(reported).toContainEqual(`Disconnected: ${what} did not finish within 7 ms`));
});
