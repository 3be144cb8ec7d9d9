export type { RedisClient } from "./client.js";
export { type RedisLog, type RedisLogOptions, redisLog } from "./log.js";
