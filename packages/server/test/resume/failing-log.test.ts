import { memoryPubSub } from "@parlance/server/cluster";
import { memoryLog } from "@parlance/server/resume";
import { failingLog } from "./failing-log.js";

failingLog((servers) => {
  const store = { log: memoryLog(), pubSub: memoryPubSub() };
  return Array.from({ length: servers }, () => store);
});
