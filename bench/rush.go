package bench

import (
	"context"
	"net"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// outcome is one person's part in a rush. The instants are read from one clock.
type outcome struct {
	asked   time.Time // before anything was done for them
	sent    time.Time // their first bytes had left for Postgres
	seated  bool
	retries int
}

// rush lets people ask a rival for a seat, one per connection at a time: who has
// an answer makes room for the next. It returns what became of each of them and
// the time from the first question to the last answer.
//
// Nobody waits in front of a connection, so the instant of asking and the
// instant of sending are as close as they can be, and whatever order is lost is
// lost by the answer itself.
func rush(ctx context.Context, url string, r rival, people, connections int) ([]outcome, time.Duration, error) {
	lines := make([]*line, min(connections, people))
	for i := range lines {
		l, err := connect(ctx, url, r.schema)
		if err != nil {
			return nil, 0, err
		}
		defer l.Close(context.WithoutCancel(ctx))
		lines[i] = l
	}
	outcomes := make([]outcome, people)
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for _, l := range lines {
		g.Go(func() error {
			for {
				user := int(next.Add(1))
				if user > people {
					return nil
				}
				var err error
				if outcomes[user-1], err = l.ask(ctx, r, user); err != nil {
					return err
				}
			}
		})
	}
	err := g.Wait()
	return outcomes, time.Since(start), err
}

// overtaken counts the people who were refused although a seat went to somebody
// who asked after their request had already left for Postgres, and returns by
// how many the unluckiest of them was passed in that way.
//
// It counts only what is beyond doubt. Two who ask at the same instant do not
// overtake each other, and since only so many ask at once as there are
// connections, a crowd that queues in front of them is not counted.
func overtaken(outcomes []outcome) (people, passedBy int) {
	var seats []time.Time // when those asked who got one
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

// line is a connection to Postgres that notes when a person's request leaves.
type line struct {
	*pgx.Conn
	wire *wire
}

func connect(ctx context.Context, url, schema string) (*line, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	c.RuntimeParams["search_path"] = schema
	l := &line{}
	dial := c.DialFunc
	c.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		l.wire = &wire{Conn: conn}
		return l.wire, nil
	}
	l.Conn, err = pgx.ConnectConfig(ctx, c)
	return l, err
}

func (l *line) ask(ctx context.Context, r rival, user int) (o outcome, err error) {
	l.wire.sent = time.Time{}
	o.asked = time.Now()
	o.seated, o.retries, err = r.ask(ctx, l.Conn, user)
	o.sent = l.wire.sent
	return o, err
}

// wire is the network under a line. Its sent is the end of the first write since
// it was last zero.
type wire struct {
	net.Conn
	sent time.Time
}

func (w *wire) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	if w.sent.IsZero() {
		w.sent = time.Now()
	}
	return n, err
}
