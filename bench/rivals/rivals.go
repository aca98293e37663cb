// Package rivals is the known answers to the question of the last seat, each
// behind an HTTP door of its own and written as well as its friends would, to be
// measured beside Lastseat; and the ceiling, which is the door with nothing behind
// it.
//
// It owns their tables, statements and queues. It must not know Lastseat's, but it
// takes from internal/enroll what is a valid name and address, so that all doors
// do the same work. bench itself has some of the same answers without a door, for
// `make oversell`.
package rivals

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
)

// Contender is one of those that are measured.
type Contender struct {
	Name      string
	What      string // how it does it, in a sentence
	Lacks     string // which of Lastseat's promises it does not make, as Promises has them
	Recording bool   // it keeps each request with its outcome, as Lastseat does
	Async     bool   // it answers before it decides
	Oversells bool   // it is no solution: no rival to be compared with
	Pools     []int  // the sizes of its pool of connections that are worth trying
	seats     string // counts the seats that are taken of a run r
	prepare   func(ctx context.Context, db *db) error
	open      func(ctx context.Context, s *server) (door, error)
}

// Promises says what the words in Lacks mean.
const Promises = `order: who asked first is served first. after failures: once something was tried again, or a process died.
receipt: what was answered is not lost, whatever stops next, and is decided.
status: where one stands, from the first moment on. record: refusals are kept, as durable as seats.
survival: within seconds it goes on by itself when a process was killed.
last seats: they go to somebody, even if who was about to get one fails.`

// Ceiling is the name of the contender that decides nothing.
const Ceiling = "ceiling"

// pools are the sizes that are tried: from fewer than the cores keep busy to more
// than they can.
var pools = []int{2, 4, 6, 10, 20, 50}

// All are the contenders other than Lastseat, the ceiling first.
var All = func() []Contender {
	all := []Contender{ceiling}
	for _, a := range []answer{asAsked, version, forUpdate, guarded, advisory, skipLocked} {
		all = append(all, a.contender(false), a.contender(true))
	}
	return append(all, plainAsynq, serialRiver)
}()

// Find returns the contender of that name.
func Find(name string) (c Contender, found bool) {
	for _, c := range All {
		if c.Name == name {
			return c, true
		}
	}
	return Contender{}, false
}

// person is who asks for a seat.
type person struct {
	id               uuid.UUID // of the request
	name, email, key string    // key is what the address is compared by
}

// outcome is what became of a request, in the words of the table requests.
type outcome string

const (
	seated  outcome = "confirmed"
	full    outcome = "full"
	already outcome = "already_registered"
	queued  outcome = "queued"  // it is decided later
	gaveUp  outcome = "gave_up" // it tried for as long as a person waits
)

// patience is how long an answer that tries again goes on with it.
const patience = 3 * time.Second

// door is what stands behind POST. Run is the id of a run.
type door interface {
	ask(ctx context.Context, run int32, p person) (outcome, error)
}

// answer is one of the synchronous answers: each has the two variants of keeping
// nothing of a refusal, and of recording each request with its outcome.
type answer struct {
	name, what, lacks string
	oversells         bool
	seats             string // empty = the rows in attendances
	prepare           func(ctx context.Context, db *db) error
	ask               func(ctx context.Context, db *db, recording bool, run int32, p person) (outcome, error)
}

func (a answer) contender(recording bool) Contender {
	c := Contender{
		Name: a.name, What: a.what, Lacks: a.lacks + "order, receipt, status, record", Recording: recording,
		Oversells: a.oversells, Pools: pools, seats: cmp.Or(a.seats, attendances), prepare: a.prepare,
	}
	if recording {
		c.Name, c.What, c.Lacks = a.name+recordingSuffix, a.what+"; records each request with its outcome", a.lacks+"order, receipt"
	}
	c.open = func(_ context.Context, s *server) (door, error) {
		return asking{a, s.db, recording}, nil
	}
	return c
}

// attendances counts the seats of a run where they are the rows of that table.
const attendances = `SELECT count(*) FROM attendances a WHERE a.run_id = r.id`

const recordingSuffix = "_recording"

// asking is an answer at work.
type asking struct {
	answer
	db        *db
	recording bool
}

func (a asking) ask(ctx context.Context, run int32, p person) (outcome, error) {
	o, err := a.answer.ask(ctx, a.db, a.recording, run, p)
	if isTaken(err) { // whatever was done is undone
		return already, a.db.recordIf(ctx, a.recording, run, p, already)
	}
	return o, err
}
