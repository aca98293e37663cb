package ops

import (
	"net/http"

	"github.com/hibiken/asynqmon"
	"github.com/redis/go-redis/v9"
)

// queuesPath is where the queues are shown.
const queuesPath = "/ops/queues"

// open makes Redis clients for asynqmon, which closes what it got.
type open func() redis.UniversalClient

func (o open) MakeRedisClient() any { return o() }

// ShowQueues mounts asynqmon, which shows every run's queue, and returns a
// function that closes its connections. It is read-only: its "run" would move a
// task to the end of the queue and its "cancel" would send it there, too.
func (a *Admin) ShowQueues(connect func() redis.UniversalClient) (stop func()) {
	queues := asynqmon.New(asynqmon.Options{RootPath: queuesPath, RedisConnOpt: open(connect), ReadOnly: true})
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The page brings its own inline scripts and styles; the fonts it would
		// fetch from elsewhere are left out.
		w.Header().Set("Content-Security-Policy",
			"default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'")
		w.Header().Del("Cache-Control") // its files have names of their own
		queues.ServeHTTP(w, r)
	})
	a.mux.Handle(queuesPath, page)
	a.mux.Handle(queuesPath+"/", page)
	return func() { _ = queues.Close() } // it only read
}
