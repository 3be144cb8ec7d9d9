import { createInterface } from "node:readline";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { listenFixture } from "./fixture.js";

// parlance conform schemas/fold-gateway --server-cmd "npx tsx examples/conformance/server-adapter.ts schemas/fold-gateway"

const { url, fixture, close } = await listenFixture(contractValue(await load(process.argv[2]!)));
const print = (line: object) => console.log(JSON.stringify(line));
print({ url });
for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  if ("report" in line) print({ calls: await fixture!.report(line.report) });
  else {
    await fixture!.begin(line);
    print({ ready: line.case });
  }
}
await close();
