import { Readable, Writable } from "node:stream";
import { serve } from "@parlance/server";
import { stdio } from "@parlance/server/node";
import { agentHandlers } from "./handlers.js";
import { acp, official, officialApp, ourHandlers } from "./peer.js";

// The agent of the tests as a program: `on-stdio.ts official` or `on-stdio.ts ours`.

if (process.argv[2] === "official") {
  const stream = official.ndJsonStream(
    Writable.toWeb(process.stdout) as WritableStream<Uint8Array>,
    Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>,
  );
  await officialApp(official.agent({ name: "official" }), agentHandlers()).connect(stream).closed;
} else await stdio(serve(acp, { acp: ourHandlers(agentHandlers()) }, { partial: true }));
