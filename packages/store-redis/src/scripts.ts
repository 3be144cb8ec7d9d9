// Each runs as one step in Redis. A command may be sent again after a reconnect, so each may run twice.
// Keys of one stream: hash (epoch, last) · lease, held by the living writer · entries, a Redis Stream.
// PUBLISH is replaced by SPUBLISH for a Redis Cluster, where only the subscribers of one node are counted otherwise.

/** KEYS hash, lease · ARGV epoch, lease, keep. 1 when the name was free. */
export const OPEN = `
if redis.call("HSETNX", KEYS[1], "epoch", ARGV[1]) == 0 then
  return redis.call("HGET", KEYS[1], "epoch") == ARGV[1] and 1 or 0
end
redis.call("HSET", KEYS[1], "last", 0)
redis.call("PEXPIRE", KEYS[1], ARGV[3])
redis.call("SET", KEYS[2], ARGV[1], "PX", ARGV[2])
return 1`;

/** The results of APPEND and REFRESH. */
export const DONE = 1;
export const LEASE_LOST = 0;
/** The stream is gone, or entries before the new one are. */
export const ENTRIES_LOST = -1;

/**
 * KEYS hash, lease, entries · ARGV epoch, keep, maxLength, channel, first sequence, texts. Where acknowledged entries are missing,
 * nothing is appended: the stream is closed with its last sequence, so that readers detect the loss.
 */
export const APPEND = `
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then
  redis.call("PUBLISH", ARGV[4], cjson.encode({ "closed", ARGV[1] }))
  return ${ENTRIES_LOST}
end
if redis.call("GET", KEYS[2]) ~= ARGV[1] then return ${LEASE_LOST} end
local last = tonumber(redis.call("HGET", KEYS[1], "last"))
local seq = tonumber(ARGV[5])
if seq > last + 1 then
  redis.call("DEL", KEYS[2])
  redis.call("HSET", KEYS[1], "last", string.format("%.0f", seq - 1))
  redis.call("PUBLISH", ARGV[4], cjson.encode({ "closed", ARGV[1] }))
  return ${ENTRIES_LOST}
end
local wake = { "entries", ARGV[1], ARGV[5] }
for i = 6, #ARGV do
  if seq > last then
    redis.call("XADD", KEYS[3], "MAXLEN", "~", ARGV[3], string.format("%.0f-0", seq), "text", ARGV[i])
    redis.call("HSET", KEYS[1], "last", string.format("%.0f", seq))
  end
  wake[#wake + 1] = ARGV[i]
  seq = seq + 1
end
redis.call("PEXPIRE", KEYS[1], ARGV[2])
redis.call("PEXPIRE", KEYS[3], ARGV[2])
redis.call("PUBLISH", ARGV[4], cjson.encode(wake))
return ${DONE}`;

/** KEYS hash, lease, entries · ARGV epoch, lease, keep. A lost lease stays lost. */
export const REFRESH = `
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then return ${ENTRIES_LOST} end
redis.call("PEXPIRE", KEYS[1], ARGV[3])
redis.call("PEXPIRE", KEYS[3], ARGV[3])
if redis.call("GET", KEYS[2]) ~= ARGV[1] then return ${LEASE_LOST} end
redis.call("PEXPIRE", KEYS[2], ARGV[2])
return ${DONE}`;

/** KEYS hash, lease · ARGV epoch, channel, last sequence. A stream without a lease is closed. Readers detect entries that were not stored. */
export const CLOSE = `
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then return 0 end
if tonumber(redis.call("HGET", KEYS[1], "last")) < tonumber(ARGV[3]) then redis.call("HSET", KEYS[1], "last", ARGV[3]) end
redis.call("DEL", KEYS[2])
redis.call("PUBLISH", ARGV[2], cjson.encode({ "closed", ARGV[1] }))
return 1`;

/** KEYS hash, lease, entries · ARGV epoch, channel. */
export const DROP = `
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then return 0 end
redis.call("DEL", KEYS[1], KEYS[2], KEYS[3])
redis.call("PUBLISH", ARGV[2], cjson.encode({ "dropped", ARGV[1] }))
return 1`;

/** KEYS hash, entries · ARGV epoch, the first sequence that stays. */
export const TRIM = `
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then return 0 end
return redis.call("XTRIM", KEYS[2], "MINID", ARGV[2] .. "-0")`;

/** KEYS hash, lease, entries · ARGV cursor, limit. Epoch, first held id, last sequence, 1 when closed, and the entries after the cursor. */
export const LOOK = `
local epoch = redis.call("HGET", KEYS[1], "epoch")
if not epoch then return false end
local first = redis.call("XRANGE", KEYS[3], "-", "+", "COUNT", 1)[1]
local entries = {}
if ARGV[2] ~= "0" then entries = redis.call("XRANGE", KEYS[3], "(" .. ARGV[1] .. "-0", "+", "COUNT", ARGV[2]) end
local closed = redis.call("GET", KEYS[2]) ~= epoch
return { epoch, first and first[1] or "", redis.call("HGET", KEYS[1], "last"), closed and 1 or 0, entries }`;

/** KEYS the channel, which finds its node · ARGV channel, texts. The number of subscribers that each text reached. */
export const PUBLISH = `
local reached = {}
for i = 2, #ARGV do reached[i - 1] = redis.call("PUBLISH", ARGV[1], ARGV[i]) end
return reached`;

/** KEYS the channel. The id of the node that runs this, which is the master that has the channel's slot. */
export const WHERE = `return redis.call("CLUSTER", "MYID")`;

/** A script for a Redis Cluster, whose pub/sub is sharded. */
export function sharded(lua: string): string {
  return lua.replaceAll(`"PUBLISH"`, `"SPUBLISH"`);
}
