import { listen } from "@parlance/server/node";
import { createAgent } from "./agent.js";

const server = await listen(createAgent(), { port: Number(process.env.PORT ?? 8080) });
console.log(`listening at ${server.url}`);
