package rivals

import (
	"context"
	"fmt"
	"net"

	"github.com/google/uuid"
)

// Caller asks a synchronous contender in this process, without HTTP, on a
// connection of its own.
type Caller struct {
	db      *db
	backend backend
	run     int32
}

// Call returns a caller for the run in the database at url, which Prepare has
// prepared. It wraps its network connection with wrap.
func Call(ctx context.Context, c Contender, url, run string, wrap func(net.Conn) net.Conn) (*Caller, error) {
	db, err := openDB(ctx, url, 1, wrap)
	if err != nil {
		return nil, err
	}
	caller := &Caller{db: db}
	var found bool
	if caller.run, found, err = db.run(ctx, run); err == nil && !found {
		err = fmt.Errorf("there is no run %s", run)
	}
	if err == nil {
		caller.backend, err = c.open(ctx, &server{Options: Options{Contender: c}, db: db})
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return caller, nil
}

// Ask asks for a seat for person n, for as long as it takes, and returns how often
// it had to start over.
func (c *Caller) Ask(ctx context.Context, n int) (isSeated bool, retries int, err error) {
	before := c.db.retries.Load()
	email := fmt.Sprintf("person-%d@example.org", n)
	o, err := c.backend.ask(ctx, c.run, person{id: uuid.New(), name: fmt.Sprintf("Person %d", n), email: email, key: email})
	return err == nil && o == seated, int(c.db.retries.Load() - before), err
}

// Close closes the caller's connection.
func (c *Caller) Close() { c.db.Close() }
