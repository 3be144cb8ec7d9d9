import { createInterface } from "node:readline";
import { load } from "@parlance/language/load";
import { contractValue } from "@parlance/language/value";
import { caller } from "./caller.js";

// parlance conform schemas/fold-gateway --client "npx tsx examples/conformance/client-adapter.ts schemas/fold-gateway"

const { call } = caller(contractValue(await load(process.argv[2]!)));
for await (const text of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await call(JSON.parse(text))));
