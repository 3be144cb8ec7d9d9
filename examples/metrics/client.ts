import { deepEqual, equal, rejects } from "node:assert/strict";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { connect } from "@parlance/client";
import { foldGateway } from "@parlance/protocols/fold-gateway";
import { listen } from "@parlance/server/node";
import { serveMetered } from "./server.js";

// In memory, to be checked here. An application passes the exporter of its collector.
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
const provider = new MeterProvider({ readers: [reader] });
const app = serveMetered(provider.getMeter("parlance"));
const server = await listen(app, { port: 0 });

/** The current values of one metric, by their attributes. */
async function read(name: string): Promise<Record<string, unknown>> {
  await reader.forceFlush();
  const metrics =
    exporter
      .getMetrics()
      .at(-1)
      ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? [];
  const points = metrics.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? [];
  return Object.fromEntries(points.map(({ attributes, value }) => [Object.values(attributes).sort().join(" "), value]));
}

/** The current gauges, without zeros. */
async function held(): Promise<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(await read("parlance.held")).filter(([, value]) => value !== 0));
}

try {
  const gateway = connect(foldGateway, { baseUrl: server.url, resume: false });
  await gateway.listAgents();
  const stream = gateway.send({ content: "hello again" })[Symbol.asyncIterator]();
  equal((await stream.next()).value?.type, "text");
  for (let step = await stream.next(); !step.done; step = await stream.next());
  await rejects(gateway.send({ content: "hello", agent_id: "2" }).text(), { status: 404 });

  deepEqual(await read("parlance.calls"), { listAgents: 1, send: 2 });
  deepEqual(await read("parlance.messages"), { "send server text": 2, "done send server": 1 });
  deepEqual(await read("parlance.refusals"), { "404 send status_404": 1 });
  deepEqual(await read("parlance.conversations"), { "done send": 1 });
  while (Object.keys(await held()).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));

  const call = app.open();
  deepEqual(await held(), { "calls fold-gateway": 1 });
  call.close();
  deepEqual(await held(), {});
  console.log("3 calls, 3 messages, 1 refusal and 1 finished stream were counted, and nothing is held");
} finally {
  await server.close();
  await provider.shutdown();
}
