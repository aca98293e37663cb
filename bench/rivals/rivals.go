// Package rivals is the known answers to the question of the last seat
// (docs/why.md), each written as well as its friends would. `make bench` measures
// them beside Lastseat, each behind HTTP in a process of its own, together with the
// ceiling, which decides nothing; `make oversell` calls them in-process.
//
// The package owns their tables, statements and queues. It must not know
// Lastseat's. It uses internal/enroll to validate names and addresses, so that all
// contenders do the same work.
//
//	rivals.go     the contenders; server.go: their HTTP; caller.go: without HTTP
//	db.go         the tables; count.go: what they say afterwards
//	asasked.go, optimistic.go, locked.go, guarded.go, skiplocked.go: answers that
//	              decide at once
//	queued.go     answers that decide later: asynq.go, river.go
//	ceiling.go    the contender that decides nothing
package rivals

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Contender is an answer that is measured.
type Contender struct {
	Name      string
	What      string // how it works, in a sentence
	Lacks     string // the promises of Lastseat that it does not make, in the words of Promises
	Recording bool   // it keeps each request with its outcome, as Lastseat does
	Async     bool   // it answers before it decides
	Oversells bool   // it is no solution, so Lastseat is not compared with it
	Pools     []int  // sizes of its connection pool that are worth trying
	seats     string // counts the seats that are taken of a run r
	prepare   func(ctx context.Context, db *db) error
	open      func(ctx context.Context, s *server) (backend, error)
}

// Promises explains the words in Lacks.
const Promises = `order: who asked first is served first. after failures: once something was tried again, or a process died.
receipt: what was answered is not lost, whatever stops next, and is decided.
status: where one stands, from the first moment on. record: refusals are kept, as durable as seats.
survival: within seconds it goes on by itself when a process was killed.
last seats: they go to other people, even if the request that was about to get one fails.`

// Ceiling is the name of the contender that decides nothing.
const Ceiling = "ceiling"

// pools are the pool sizes that are tried: from fewer connections than the cores
// can serve to more.
var pools = []int{2, 4, 6, 10, 20, 50}

// All are the contenders other than Lastseat, the ceiling first.
var All = func() []Contender {
	all := []Contender{ceiling}
	for _, a := range []answer{asAsked, version, forUpdate, guarded, advisory, skipLocked} {
		all = append(all, a.contender(false), a.contender(true))
	}
	return append(all, plainAsynq, serialRiver)
}()

// Demonstrated are further answers, which `make oversell` shows and `make bench`
// does not measure.
var Demonstrated = []Contender{asAskedGE.contender(false), touch.contender(false)}

// Find returns the contender of that name.
func Find(name string) (c Contender, found bool) {
	for _, c := range slices.Concat(All, Demonstrated) {
		if c.Name == name {
			return c, true
		}
	}
	return Contender{}, false
}

// person is a person who asks for a seat.
type person struct {
	id               uuid.UUID // of the request
	name, email, key string    // key is what the address is compared by
}

// outcome is the outcome of a request, in the words of the table requests.
type outcome string

const (
	seated  outcome = "confirmed"
	full    outcome = "full"
	already outcome = "already_registered"
	queued  outcome = "queued"  // it is decided later
	gaveUp  outcome = "gave_up" // it tried for as long as people wait
)

// patience is how long an answer starts over before it gives up.
const patience = 3 * time.Second

// backend decides the requests, or takes them to be decided later. run is the id of
// a run.
type backend interface {
	ask(ctx context.Context, run int32, p person) (outcome, error)
}

// answer is an answer that decides at once. It has two variants: one keeps nothing
// of a refusal, the other records each request with its outcome.
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
	c.open = func(_ context.Context, s *server) (backend, error) {
		return asking{a, s.db, recording}, nil
	}
	return c
}

// attendances counts the seats of a run as the rows of that table.
const attendances = `SELECT count(*) FROM attendances a WHERE a.run_id = r.id`

const recordingSuffix = "_recording"

// asking is the backend of an answer.
type asking struct {
	answer
	db        *db
	recording bool
}

func (a asking) ask(ctx context.Context, run int32, p person) (outcome, error) {
	o, err := a.answer.ask(ctx, a.db, a.recording, run, p)
	if isTaken(err) { // the transaction was rolled back
		return already, a.db.recordIf(ctx, a.recording, run, p, already)
	}
	return o, err
}
