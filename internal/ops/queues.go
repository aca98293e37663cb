package ops

import (
	"net/http"

	"github.com/hibiken/asynqmon"
	"github.com/redis/go-redis/v9"
)

// queuesPath is the path of asynqmon.
const queuesPath = "/ops/queues"

// open makes Redis clients for asynqmon, which closes them itself.
type open func() redis.UniversalClient

func (o open) MakeRedisClient() any { return o() }

// ShowQueues mounts asynqmon, which shows every run's queue, and returns a
// function that closes its connections. It is read-only, because its "run" and
// its "cancel" both move a task to the end of its queue.
func (a *Admin) ShowQueues(connect func() redis.UniversalClient) (stop func()) {
	queues := asynqmon.New(asynqmon.Options{RootPath: queuesPath, RedisConnOpt: open(connect), ReadOnly: true})
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The page has inline scripts and styles. The policy blocks the fonts
		// that it would fetch from another site.
		w.Header().Set("Content-Security-Policy",
			"default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'")
		w.Header().Del("Cache-Control") // its files can be cached: each version has its own name
		queues.ServeHTTP(w, r)
	})
	a.mux.Handle(queuesPath, page)
	a.mux.Handle(queuesPath+"/", page)
	return func() { _ = queues.Close() } // it has written nothing that could be lost
}
