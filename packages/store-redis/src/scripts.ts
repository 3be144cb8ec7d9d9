// Each runs as one step in Redis. ioredis sends a command again after a reconnect, so each may run twice.

/** KEYS hash, lease · ARGV epoch, lease, keep. 1 when the name was free. */
export const OPEN = `
if redis.call("HSETNX", KEYS[1], "epoch", ARGV[1]) == 0 then
  return redis.call("HGET", KEYS[1], "epoch") == ARGV[1] and 1 or 0
end
redis.call("HSET", KEYS[1], "last", 0)
redis.call("PEXPIRE", KEYS[1], ARGV[3])
redis.call("SET", KEYS[2], ARGV[1], "PX", ARGV[2])
return 1`;

/**
 * KEYS hash, lease, entries · ARGV epoch, keep, maxLength, channel, first sequence, texts. 0 for a writer without the lease: it was
 * taken for dead, and readers were told that nothing more comes.
 */
export const APPEND = `
if redis.call("GET", KEYS[2]) ~= ARGV[1] then return 0 end
local last = tonumber(redis.call("HGET", KEYS[1], "last"))
local seq = tonumber(ARGV[5])
local said = { ARGV[5] }
for i = 6, #ARGV do
  if seq > last then
    redis.call("XADD", KEYS[3], "MAXLEN", "~", ARGV[3], string.format("%.0f-0", seq), "text", ARGV[i])
    redis.call("HSET", KEYS[1], "last", string.format("%.0f", seq))
  end
  said[#said + 1] = ARGV[i]
  seq = seq + 1
end
redis.call("PEXPIRE", KEYS[1], ARGV[2])
redis.call("PEXPIRE", KEYS[3], ARGV[2])
redis.call("PUBLISH", ARGV[4], cjson.encode(said))
return 1`;

/** KEYS hash, lease, entries · ARGV epoch, lease, keep. A lease that is lost stays lost. */
export const REFRESH = `
if redis.call("HGET", KEYS[1], "epoch") ~= ARGV[1] then return 0 end
if redis.call("GET", KEYS[2]) == ARGV[1] then redis.call("PEXPIRE", KEYS[2], ARGV[2]) end
redis.call("PEXPIRE", KEYS[1], ARGV[3])
redis.call("PEXPIRE", KEYS[3], ARGV[3])
return 1`;

/** KEYS hash, lease · ARGV channel. */
export const CLOSE = `
if redis.call("EXISTS", KEYS[1]) == 0 then return 0 end
redis.call("HSET", KEYS[1], "closed", 1)
redis.call("DEL", KEYS[2])
redis.call("PUBLISH", ARGV[1], "")
return 1`;

/** KEYS hash, lease, entries · ARGV channel. */
export const DROP = `
redis.call("DEL", KEYS[1], KEYS[2], KEYS[3])
redis.call("PUBLISH", ARGV[1], "")
return 1`;

/** KEYS entries · ARGV the first sequence that stays. */
export const TRIM = `
return redis.call("XTRIM", KEYS[1], "MINID", ARGV[1] .. "-0")`;

/** KEYS hash, lease, entries. Epoch, first id that is held, last sequence, and whether nothing more comes: closed, or nobody has the lease. */
export const STATE = `
local epoch = redis.call("HGET", KEYS[1], "epoch")
if not epoch then return false end
local first = redis.call("XRANGE", KEYS[3], "-", "+", "COUNT", 1)[1]
local closed = redis.call("HEXISTS", KEYS[1], "closed") == 1 or redis.call("EXISTS", KEYS[2]) == 0
return { epoch, first and first[1] or "", redis.call("HGET", KEYS[1], "last"), closed and 1 or 0 }`;
