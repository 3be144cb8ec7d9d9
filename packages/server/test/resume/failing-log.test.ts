import { memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { failingAsks } from "./failing-asks.js";
import { failingLog } from "./failing-log.js";

const storesOf = (servers: number) => {
  const store = { log: memoryLog(), pubSub: memoryPubSub() };
  return Array.from({ length: servers }, () => store);
};

failingLog(storesOf);
failingAsks(storesOf);
