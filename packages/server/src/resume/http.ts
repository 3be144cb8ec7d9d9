import { type Cursor, formatResumable, isKey, OFFER, parseCursor, RESUME, Refusal } from "@parlance/wire";
import type { Scope } from "@parlance/wire/scope";
import { type Context, calledOf, enter } from "../call.js";
import type { Answer } from "../http/answer.js";
import type { HttpRequest } from "../http/request.js";
import { gapAnswer } from "../http/response.js";
import { conversationName } from "../identity.js";
import type { ResumableChannels } from "./channels.js";
import { timesOf } from "./conversations.js";
import type { EventLog } from "./event-log.js";
import type { ResumableStreams } from "./streams.js";

/**
 * Answers requests to resume or cancel a conversation. GET on a stream's path, with its key and `Last-Event-ID`, resumes it. DELETE
 * cancels it, or a channel whose client has no socket. Undefined for any other request.
 */
export function resumeRequests(
  context: Context,
  log: EventLog,
  streams: ResumableStreams,
  channels: ResumableChannels,
) {
  const { callbacks, contract, ledger, ownerOf, root } = context;

  /** Joining is a call as well: hooks may refuse it, and it takes a place. Before both it has no effect on the stream. */
  async function join(
    operation: string,
    path: Readonly<Record<string, string>>,
    request: HttpRequest,
    principal: unknown,
    name: string,
    cursor: Cursor | undefined,
    call: Scope,
  ): Promise<Answer | undefined> {
    const joined = await streams.join(name, cursor, call, async () => {
      ledger.take(ownerOf(principal), "reader", call);
      await callbacks.request(call, calledOf(context, operation, path, principal, request));
    });
    // A fully read stream would otherwise be begun again.
    if (!joined && cursor) throw new Refusal("the stream is over", { status: 404 });
    if (!joined) return undefined;
    if ("gap" in joined) return gapAnswer(context, request, joined.gap, "messages", operation);
    return joined;
  }

  async function answer(request: HttpRequest, key: string, call: Scope): Promise<Answer | undefined> {
    const { method, headers, pathname } = request;
    const channel = method === "DELETE" && context.route("GET", pathname);
    if (channel && "channel" in channel) {
      const principal = await enter(context, request, call);
      if (await channels.cancel(conversationName(contract.name, channel.channel, pathname, ownerOf(principal), key)))
        return { status: 204, headers: {}, body: "" };
      throw new Refusal("there is no channel with this key", { status: 404 });
    }
    const routes = ["POST", "GET"].flatMap((verb) => {
      const route = context.route(verb, pathname);
      return route && "operations" in route ? route.operations.map((name) => ({ name, path: route.path })) : [];
    });
    const found = routes.filter(({ name }) => contract.operations[name]!.answer.stream);
    if (found.length === 0) return undefined;
    const cursor = parseCursor(headers.get("Last-Event-ID"));
    // A log in this process has gone with its server; a shared one is read by another.
    if (root.closed && cursor && log.size)
      return gapAnswer(context, request, { after: cursor.seq }, "messages", found[0]!.name);
    const principal = await enter(context, request, call);
    for (const { name: operation, path } of found) {
      const name = conversationName(contract.name, operation, pathname, ownerOf(principal), key);
      if (method === "DELETE") {
        if (await streams.cancel(name)) return { status: 204, headers: {}, body: "" };
        continue;
      }
      const joined = await join(operation, path, request, principal, name, cursor, call);
      if (joined) return joined;
    }
    const begins = context.route("GET", pathname);
    if (method === "GET" && begins && "operations" in begins) return undefined;
    throw new Refusal("there is no stream with this key", { status: 404 });
  }

  /** Tells a page whether channels are resumed here. It says nothing about a caller, so nobody is authenticated. */
  const offer = async (): Promise<Answer> => ({
    status: 204,
    headers: { [RESUME]: formatResumable({ epoch: OFFER, ...timesOf(context.limits) }), "Cache-Control": "no-store" },
    body: "",
  });

  return (request: HttpRequest, call: Scope): Promise<Answer | undefined> | undefined => {
    if (request.method !== "GET" && request.method !== "DELETE") return undefined;
    const key = request.headers.get(RESUME);
    const route = key === OFFER && request.method === "GET" && context.route("GET", request.pathname);
    if (route && "channel" in route && !context.shutdown.draining) return offer();
    return isKey(key) ? answer(request, key, call) : undefined;
  };
}
