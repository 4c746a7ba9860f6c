package outbox

// The scripts, letter by letter those of src/relay/layout.cc, which a test sees to. Each begins by
// looking for the id and ends by remembering it. What runs between them may fail (a key of another
// type): then the script ends there, and nothing is remembered.

const scriptBegin = `if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

const scriptEnd = `redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now - ARGV[2]))
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - tonumber(ARGV[3]))
return 1
`

const listScript = scriptBegin + `redis.call('RPUSH', KEYS[2], ARGV[4])
` + scriptEnd

// Behind the third argument: names and values of the entry in turn.
const streamScript = scriptBegin + `redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
` + scriptEnd

// A delayed envelope waits in a sorted set. A ready one is announced by a token for workers that
// block. ARGV[5] is when it is due, 0 for at once.
const prismGoScript = scriptBegin + `if tonumber(ARGV[5]) > now then
  redis.call('ZADD', KEYS[3], ARGV[5], ARGV[4])
else
  redis.call('RPUSH', KEYS[2], ARGV[4])
  redis.call('LPUSH', KEYS[4], '1')
end
` + scriptEnd

// A task that is known there in any state is a duplicate. While the scheduler still moves the tasks
// of its older form, they are known only by the lists that they stand in.
const waitQueueScript = scriptBegin + `local task = ARGV[4]
local known = redis.call('HEXISTS', KEYS[3], task) == 1
    or redis.call('HEXISTS', KEYS[6], task) == 1
if not known and redis.call('GET', KEYS[7]) ~= 'complete' then
  known = redis.call('LPOS', KEYS[2], task) or redis.call('LPOS', KEYS[8], task)
end
if known then return 0 end
redis.call('LPUSH', KEYS[2], task)
redis.call('HSET', KEYS[3], task, 'waiting')
redis.call('HSET', KEYS[4], task, now)
redis.call('HSET', KEYS[5], task, ARGV[1])
` + scriptEnd

const knownScript = `if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 1 end
return 0
`
