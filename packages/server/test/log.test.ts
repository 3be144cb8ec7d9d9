import { memoryLog } from "@parlance/server";
import { testEventLog } from "@parlance/server/testing";
import { describe, test } from "vitest";

describe("memoryLog", () => testEventLog(async () => ({ log: memoryLog(), stop() {} }), test));
