import type { Attributes, Meter } from "@opentelemetry/api";
import { type FoldGatewayHandlers, foldGateway } from "@parlance/protocols/fold-gateway";
import { type App, type Hooks, Refusal, type ServeOptions, serve } from "@parlance/server";

/** Hooks that count events with OpenTelemetry's metrics API. */
export function countingHooks(meter: Meter): Hooks {
  const calls = meter.createCounter("parlance.calls", { description: "Calls that reach a handler" });
  const refusals = meter.createCounter("parlance.refusals", { description: "Requests and messages that are refused" });
  const messages = meter.createCounter("parlance.messages", { description: "Messages, by the side that sent them" });
  const conversations = meter.createCounter("parlance.conversations", {
    description: "Streams and channels that are over, by how they ended",
  });
  return {
    request: ({ operation }) => calls.add(1, { operation }),
    refuse: (_request, { status, code }, _cause, operation) =>
      refusals.add(1, { code, ...(status !== undefined && { status }), ...(operation !== undefined && { operation }) }),
    message: ({ operation }, { type }, from) => messages.add(1, { operation, type, from }),
    close: ({ operation }, how) => conversations.add(1, { operation, how }),
  };
}

/** Reports an app's stats at each collection of the metrics. */
export function observeStats(meter: Meter, app: App, attributes: Attributes): void {
  const held = meter.createObservableGauge("parlance.held", { description: "What is held now, by `stats()`" });
  held.addCallback((result) => {
    for (const [of, value] of Object.entries(app.stats())) result.observe(value, { ...attributes, of });
  });
}

/** A gateway with metrics: its hooks are given before it is made, and its stats are observed after. */
export function serveMetered(meter: Meter, options: ServeOptions = {}): App {
  const handlers: FoldGatewayHandlers = {
    health: () => "OK",
    ready: () => "ready (1 agents)",
    listAgents: () => [{ id: "1", name: "echo", capabilities: ["chat"] }],
    async *send({ content, agent_id }) {
      if (agent_id !== undefined && agent_id !== "1") throw new Refusal(`agent ${agent_id} not found`, { status: 404 });
      for (const word of content.split(" ")) yield { type: "text", text: word };
      yield { type: "done", full_response: content };
    },
  };
  const app = serve(foldGateway, handlers, { ...options, hooks: countingHooks(meter) });
  observeStats(meter, app, { protocol: foldGateway.name });
  return app;
}
