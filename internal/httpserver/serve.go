// Package httpserver is what the HTTP listeners of Lastseat have in common: the
// bounds of what they take in, and how they stop. It must not know what is
// served.
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

// Options say how much a server takes on, and how it stops.
type Options struct {
	// Connections is the most that are open at once.
	Connections int
	// Refused is called for each connection beyond them. It may be nil.
	Refused func()
	// Stopping is called when the server begins to stop. It may be nil.
	Stopping func()
	// Delay is how long new requests are served after that: until whoever sends
	// them has noticed.
	Delay time.Duration
	// Grace is how long requests in flight may take after the delay.
	Grace time.Duration
}

// Serve serves on l until ctx ends, and then stops: it calls Stopping, serves
// everybody for Delay more and closes each connection after its next answer,
// then closes l and lets the requests in flight finish, at most for Grace.
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

// closeWhen has connections end after an answer once leaving is set, so that the
// next request of their clients goes elsewhere.
func closeWhen(leaving *atomic.Bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
