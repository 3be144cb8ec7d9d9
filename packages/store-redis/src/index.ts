export type { RedisClient } from "./client.js";
export { type RedisLog, type RedisLogOptions, redisLog } from "./log.js";
export { type RedisRelay, type RedisRelayOptions, redisRelay } from "./relay.js";
