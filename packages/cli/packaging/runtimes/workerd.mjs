// Runs a worker in workerd, until the input ends. Prints the URL.
import { build } from "esbuild";
import { Miniflare } from "miniflare";

const [file] = process.argv.slice(2);
const { outputFiles } = await build({
  entryPoints: [file],
  bundle: true,
  format: "esm",
  target: "es2022",
  write: false,
});
const worker = new Miniflare({
  modules: true,
  script: outputFiles[0].text,
  compatibilityDate: "2026-07-01",
  port: 0,
  ...(file === "durable.mjs" && { durableObjects: { AGENT: "Agent" } }),
});
console.log(JSON.stringify({ url: String(await worker.ready).replace(/\/$/, "") }));
for await (const _ of process.stdin);
await worker.dispose();
