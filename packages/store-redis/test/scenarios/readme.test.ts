import { afterAll, describe } from "vitest";
import { testFences } from "../../../cli/test/fences.js";
import { hasRedis, startRedis } from "../redis.js";

const server = hasRedis ? await startRedis() : undefined;
process.env.REDIS_URL = server?.path;
afterAll(() => server?.remove());

describe.runIf(hasRedis)("on a Redis", () => testFences(new URL("../../README.md", import.meta.url)));
