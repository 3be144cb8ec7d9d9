import { formatGap, isKey, parseCursor, RESUME, Refusal } from "@parlance/wire";
import type { Called } from "./options.js";
import { type Answer, refuse, streamed } from "./reply.js";
import { identify, nameOf, type Serving } from "./serving.js";

/** The name of the run that a call begins; undefined where the caller has not asked for one. */
export function runName(serving: Serving, { operation, request, principal }: Called): string | undefined {
  const key = request.headers.get(RESUME);
  if (serving.options.resume === false || !isKey(key)) return undefined;
  return runOf(serving, operation, new URL(request.url).pathname, principal, key);
}

/** Whoever joins a run must be who began it, and ask for the same thing. */
export function runOf(
  { contract, options }: Pick<Serving, "contract" | "options">,
  operation: string,
  pathname: string,
  principal: unknown,
  key: string,
): string {
  return JSON.stringify([contract.name, operation, pathname, nameOf(options, principal), key]);
}

/**
 * A stream is joined again by GET on its path with its key and `Last-Event-ID`; it is cancelled by DELETE, and so is a channel whose client
 * has no socket to say it on. Undefined where the request is something else.
 */
export async function resume(serving: Serving, request: Request, pathname: string): Promise<Answer | undefined> {
  const { method, headers } = request;
  const key = headers.get(RESUME);
  if (!isKey(key) || (method !== "GET" && method !== "DELETE") || serving.options.resume === false) return undefined;
  const names = ["POST", "GET"].flatMap((verb) => {
    const route = serving.route(verb, pathname);
    return route && "operations" in route ? route.operations : [];
  });
  const channel = method === "DELETE" && serving.route("GET", pathname);
  if (channel && "channel" in channel) {
    const name = runOf(serving, channel.channel, pathname, await identify(serving, request), key);
    if (await serving.slots.cancel(name)) return { status: 204, headers: {}, body: "" };
    throw new Refusal("there is no channel with this key", { status: 404 });
  }
  const streams = names.filter((name) => serving.contract.operations[name]!.answer.stream);
  if (streams.length === 0) return undefined;
  const principal = await identify(serving, request);
  const cursor = parseCursor(headers.get("Last-Event-ID"));
  for (const operation of streams) {
    const name = runOf(serving, operation, pathname, principal, key);
    if (method === "DELETE") {
      if (await serving.runs.cancel(name)) return { status: 204, headers: {}, body: "" };
      continue;
    }
    const joined = await serving.runs.join(name, cursor);
    // Whoever has everything of a stream that is over would begin it again, and again.
    if (!joined && cursor) throw new Refusal("the stream is over", { status: 404 });
    if (!joined) continue;
    if (!("gap" in joined)) return streamed(serving, joined);
    const { after, first } = joined.gap;
    const what =
      first === undefined
        ? `everything after message ${after} is gone`
        : `messages ${after + 1} to ${first - 1} are gone`;
    const answered = refuse(serving, request, new Refusal(what, { status: 410 }), operation);
    return { ...answered, headers: { ...answered.headers, [RESUME]: formatGap(joined.gap) } };
  }
  const begins = serving.route("GET", pathname);
  if (method === "GET" && begins && "operations" in begins) return undefined;
  throw new Refusal("there is no stream with this key", { status: 404 });
}
