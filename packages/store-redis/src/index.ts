export type { RedisClient, RedisCluster, RedisConnection } from "./client.js";
export { type RedisStore, redisCluster } from "./cluster.js";
export { RedisStoreError, type RedisStoreErrorCode } from "./error.js";
export { type RedisLog, type RedisLogOptions, type RedisLogStats, redisLog } from "./log.js";
export { type RedisPubSub, type RedisPubSubOptions, type RedisPubSubStats, redisPubSub } from "./pubsub.js";
