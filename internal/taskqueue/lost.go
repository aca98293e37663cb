package taskqueue

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// State says what a queue will do with a task.
type State int

const (
	// Lost says that the queue will not hand the task out. Its id may still be
	// taken.
	Lost State = 0
	// Pending says that the task waits for a server.
	Pending State = 1
	// Active says that a server has the task, and a lease on it.
	Active State = 2
)

// key returns a key of Asynq 0.26. Only this file reads and writes such keys;
// tests with a real server and a real Redis notice when they change.
//
// Asynq's own Inspector cannot tell what States does. It finds a pending task
// by the task's own key, even if the list of pending tasks has lost it, and
// shows an active task without a lease as if it had one. Nor can it delete
// either of them.
func key(queue, name string) string { return "asynq:{" + queue + "}:" + name }

const (
	// leaseGrace is how long Asynq waits after the end of a lease before it hands
	// the task out again, since the clocks of two servers may differ.
	leaseGrace = 30 * time.Second

	// abandonedAfter is how long after the end of its lease a task counts as
	// abandoned. Asynq needs less than half of that to hand a task out again.
	abandonedAfter = 5 * time.Minute
)

// onList is Lua that collects those of the ids ARGV[2] and so on that are on
// the list of pending tasks. It reads the list once, however many ids there
// are. It begins at the head of the queue, with the tasks that have waited
// longest, and ends when it has found all ids.
const onList = `
local wanted, left, on = {}, #ARGV - 1, {}
for i = 2, #ARGV do wanted[ARGV[i]] = true end
for last = -1, -redis.call("LLEN", KEYS[1]), -1000 do
    if left <= 0 then break end
    for _, id in ipairs(redis.call("LRANGE", KEYS[1], last - 999, last)) do
        if wanted[id] and not on[id] then on[id] = true; left = left - 1 end
    end
end
`

// statesOf returns the states of the tasks ARGV[2] and so on. A lease counts if
// it ends after ARGV[1]. It is a script because a task that is handed out or
// put back meanwhile must not be missed in both places.
var statesOf = redis.NewScript(onList + `
local states = {}
for i = 2, #ARGV do
    local lease = redis.call("ZSCORE", KEYS[2], ARGV[i])
    states[i - 1] = on[ARGV[i]] and 1 or lease and tonumber(lease) > tonumber(ARGV[1]) and 2 or 0
end
return states`)

// States returns the states of the tasks with the ids, in their order, in one
// round trip.
func (c *Client) States(ctx context.Context, queue string, ids []string) ([]State, error) {
	keys := []string{key(queue, "pending"), key(queue, "lease")}
	found, err := statesOf.Run(ctx, c.redis, keys, arguments(time.Now().Add(-leaseGrace).Unix(), ids)...).Int64Slice()
	if err != nil {
		return nil, err
	}
	states := make([]State, len(found))
	for i, state := range found {
		states[i] = State(state)
	}
	return states, nil
}

func arguments(first any, ids []string) []any {
	all := []any{first}
	for _, id := range ids {
		all = append(all, id)
	}
	return all
}

// drop takes the tasks ARGV[2] and so on off the queue, except those that are
// pending. Their own keys, which begin with ARGV[1], expire after an hour.
var drop = redis.NewScript(onList + `
for i = 2, #ARGV do
    if not on[ARGV[i]] then
        redis.call("LREM", KEYS[2], 0, ARGV[i])
        for set = 3, #KEYS do redis.call("ZREM", KEYS[set], ARGV[i]) end
        redis.call("EXPIRE", ARGV[1] .. ARGV[i], 3600)
    end
end
return redis.status_reply("OK")`)

// Drop takes lost tasks off the queue, unless they are pending again. A server
// that is still working on one of them goes on, and finds nothing to
// acknowledge. The ids stay taken for an hour, since another process may be
// about to enqueue a task under an id that it has read before.
func (c *Client) Drop(ctx context.Context, queue string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	var keys []string
	for _, name := range []string{"pending", "active", "lease", "scheduled", "retry", "archived", "completed"} {
		keys = append(keys, key(queue, name))
	}
	return drop.Run(ctx, c.redis, keys, arguments(key(queue, "t:"), ids)...).Err()
}

// DropAbandoned removes the active tasks that Asynq will never hand out again,
// and returns how many there were: those without a lease, and those whose lease
// ended so long ago that Asynq must have lost them.
func (c *Client) DropAbandoned(ctx context.Context, queue string) (int, error) {
	var active, leased *redis.StringSliceCmd
	_, err := c.redis.TxPipelined(ctx, func(p redis.Pipeliner) error {
		active = p.LRange(ctx, key(queue, "active"), 0, -1)
		since := strconv.FormatInt(time.Now().Add(-abandonedAfter).Unix(), 10)
		leased = p.ZRangeByScore(ctx, key(queue, "lease"), &redis.ZRangeBy{Min: since, Max: "+inf"})
		return nil
	})
	if err != nil {
		return 0, err
	}
	abandoned := slices.DeleteFunc(active.Val(), func(id string) bool { return slices.Contains(leased.Val(), id) })
	return len(abandoned), c.Drop(ctx, queue, abandoned)
}
