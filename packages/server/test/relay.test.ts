import { memoryLog, memoryRelay } from "@parlance/server";
import { describe } from "vitest";
import { testCluster, tracked } from "./cluster.js";

describe("two apps of one process, joined by memoryRelay", () => {
  testCluster(async () => {
    const relay = memoryRelay();
    const log = memoryLog();
    return { relays: [tracked(relay), tracked(relay)], logs: [log, log], stop() {} };
  });
});
