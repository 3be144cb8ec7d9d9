import { Fault, type Handlers, type Peer } from "./peer.js";
import { type Json, methods } from "./samples.js";

const textOf = ({ prompt }: Json): Json => JSON.parse(prompt[0].text);

/** A handler for each request of one side. Its results are the samples in turn, and tell what it was given. */
function answering(side: "agent" | "client"): Handlers {
  const own = methods().filter(({ on, results }) => on === side && results !== undefined);
  return Object.fromEntries(
    own.map(({ name, results }) => {
      let times = 0;
      return [name, (params: Json) => ({ ...results![times++ % results!.length], _meta: { given: params } })];
    }),
  );
}

const update = (sessionId: string, text: string) => ({
  sessionId,
  update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
});

/** An agent whose prompt is an order in JSON. */
export function agentHandlers(): Handlers {
  const turns = new Map<string, AbortController>();
  const notices: Json[] = [];
  return {
    ...answering("agent"),
    "_parlance/echo": (params) => params,
    "_parlance/notice": (params) => void notices.push(params),
    "_parlance/notices": () => ({ notices }),
    "session/cancel": ({ sessionId }) => turns.get(sessionId)?.abort(),
    async "session/prompt"(params, peer, signal) {
      const { sessionId } = params;
      const turn = new AbortController();
      turns.set(sessionId, turn);
      return perform(textOf(params), sessionId, peer, AbortSignal.any([signal, turn.signal]));
    },
  };
}

async function perform(order: Json, sessionId: string, peer: Peer, signal: AbortSignal): Promise<Json> {
  if (order.fail) throw new Fault(order.fail.code, order.fail.message, order.fail.data);
  if (order.updates) for (const one of order.updates) await peer.notify("session/update", { sessionId, update: one });
  if (order.count)
    for (let at = 0; at < order.count; at++) await peer.notify("session/update", update(sessionId, String(at)));
  if (order.notify) await peer.notify(order.notify, order.params);
  if (order.call) {
    const came = await peer
      .call(order.call, order.params)
      .catch(({ code, message, data }) => ({ code, message, data }));
    return { stopReason: "end_turn", _meta: { came } };
  }
  if (order.wait) {
    await peer.notify("session/update", update(sessionId, "waiting"));
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    return { stopReason: "cancelled" };
  }
  return { stopReason: "end_turn" };
}

/** An editor that answers every request, and notes the notifications. */
export function editorHandlers(noted: (method: string, params: Json) => void): Handlers {
  return {
    ...answering("client"),
    "_parlance/echo": (params) => params,
    "_parlance/notice": (params) => noted("_parlance/notice", params),
    "session/update": (params) => noted("session/update", params),
    "elicitation/complete": (params) => noted("elicitation/complete", params),
  };
}
