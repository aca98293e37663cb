package oversell

import (
	"context"
	"net"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/bench/rivals"
)

// outcome is what happened to one person. All instants are from one clock.
type outcome struct {
	asked   time.Time // before anything was done for them
	sent    time.Time // their first bytes had left for Postgres
	seated  bool
	retries int
}

// rush lets people ask a contender for a seat, one per connection at a time: an
// answer makes room for the next person. It returns the outcome of each of them
// and the time from the first question to the last answer.
//
// No person waits for a connection, so the instants of asking and of sending are as
// close as they can be, and if the order is lost, the answer itself has lost it.
func rush(ctx context.Context, url string, c rivals.Contender, people, connections int) ([]outcome, time.Duration, error) {
	callers := make([]*caller, min(connections, people))
	for i := range callers {
		caller, err := connect(ctx, url, c)
		if err != nil {
			return nil, 0, err
		}
		defer caller.Close()
		callers[i] = caller
	}
	outcomes := make([]outcome, people)
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for _, c := range callers {
		g.Go(func() error {
			for {
				n := int(next.Add(1))
				if n > people {
					return nil
				}
				var err error
				if outcomes[n-1], err = c.ask(ctx, n); err != nil {
					return err
				}
			}
		})
	}
	err := g.Wait()
	return outcomes, time.Since(start), err
}

// overtaken counts the people who were refused although a seat went to a person
// who asked after their request had already left for Postgres. It also returns the
// largest number of people that passed one of them in that way.
//
// It counts only what is beyond doubt. Two people who ask at the same instant do
// not overtake each other, and since only as many ask at once as there are
// connections, people who would queue in front of them are not counted.
func overtaken(outcomes []outcome) (people, passedBy int) {
	var seats []time.Time // when the seated people asked
	for _, o := range outcomes {
		if o.seated {
			seats = append(seats, o.asked)
		}
	}
	slices.SortFunc(seats, time.Time.Compare)
	for _, o := range outcomes {
		if o.seated {
			continue
		}
		earlier := sort.Search(len(seats), func(i int) bool { return seats[i].After(o.sent) })
		if later := len(seats) - earlier; later > 0 {
			people++
			passedBy = max(passedBy, later)
		}
	}
	return people, passedBy
}

// caller asks on a connection to Postgres that notes when a request leaves.
type caller struct {
	*rivals.Caller
	sent atomic.Pointer[time.Time] // the end of the first write; nil = none yet
}

func connect(ctx context.Context, url string, c rivals.Contender) (*caller, error) {
	caller := &caller{}
	var err error
	caller.Caller, err = rivals.Call(ctx, c, url, slug, func(conn net.Conn) net.Conn { return &notingConn{conn, &caller.sent} })
	return caller, err
}

func (c *caller) ask(ctx context.Context, n int) (o outcome, err error) {
	c.sent.Store(nil)
	o.asked = time.Now()
	o.seated, o.retries, err = c.Ask(ctx, n)
	if sent := c.sent.Load(); sent != nil {
		o.sent = *sent
	}
	return o, err
}

// notingConn notes the end of its first write since sent was last nil.
type notingConn struct {
	net.Conn
	sent *atomic.Pointer[time.Time]
}

func (c *notingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.sent.Load() == nil {
		c.sent.Store(new(time.Now()))
	}
	return n, err
}
