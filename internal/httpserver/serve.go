// Package httpserver has what all HTTP listeners of Lastseat need: bounds on
// what they accept, and a graceful stop. It must not know what is served.
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Options are the bounds of a server, and how it stops.
type Options struct {
	// Connections is the most connections open at once.
	Connections int
	// Refused is called for each connection that is refused. It may be nil.
	Refused func()
	// Stopping is called when the server begins to stop. It may be nil.
	Stopping func()
	// Delay is how long the server keeps serving new requests after that, so
	// that load balancers can notice.
	Delay time.Duration
	// Grace is how long requests in flight may take after Delay.
	Grace time.Duration
}

// Serve serves on l until ctx ends, and then stops. It calls Stopping, serves
// for Delay more and closes each connection after its next answer, then closes
// l and waits for the requests in flight, at most for Grace.
func Serve(ctx context.Context, l net.Listener, server *http.Server, o Options) error {
	Prepare(server)
	var leaving atomic.Bool
	server.Handler = closeWhen(&leaving, server.Handler)
	bounded := newBound(l, o.Connections, o.Refused)
	defer bounded.refusals.Wait()
	server.ConnState = bounded.note

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(bounded) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	leaving.Store(true)
	if o.Stopping != nil {
		o.Stopping()
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", l.Addr(), err)
	case <-time.After(o.Delay):
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	err := server.Shutdown(closing)
	if err != nil {
		err = errors.Join(fmt.Errorf("closing %s: requests were still in flight: %w", l.Addr(), err), server.Close())
	}
	if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// closeWhen makes every answer close its connection once leaving is set, so
// that the client's next request goes to another process.
func closeWhen(leaving *atomic.Bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
