// A server of the conversations whose streams are in Redis: `tsx serving.ts <socket>`. It prints its port.
import { redisLog } from "@parlance/store-redis";
import { Redis } from "ioredis";
import { fixture } from "../../server/test/resume/conversations.js";

const { server } = await fixture({ log: redisLog({ redis: new Redis(process.argv[2]!), lease: 1000 }) });
console.log(server.port);
