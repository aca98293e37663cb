package systemtest

import (
	"syscall"
	"testing"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// What a client sees when its request kills an API.
const (
	noAnswer  = true  // none
	anyAnswer = false // none, or 202
)

// anAPIDies has the first request kill its API, after which inLine requests are
// in the line. They are decided although no client asks again and no
// notification names the run, which the worker has never heard of. A client
// that asks again gets the same ticket.
func anAPIDies(unanswered bool, inLine int64) crash {
	return func(t *testing.T, at crashpoint.Point) {
		const seats = 3
		s := newCrashSite(t)
		s.openCrashRun(seats)
		s.start("worker")
		api := s.startToDie("api", string(at))
		answers := make([]told, 6)
		err := s.ask(api, "a", 0, &answers[0])
		api.requireDead()
		if err == nil && unanswered {
			t.Errorf("it was answered: %+v", answers[0])
		}
		if n, _ := s.inLine(); n != inLine {
			t.Errorf("%d are in the line, want %d", n, inLine)
		}
		s.requireAskedAgain(answers, err == nil, seats)
	}
}

// requireAskedAgain starts the API again as a supervisor does. It checks that
// everything that was accepted is decided without the API, and that asking
// again gives nobody a second ticket. Person 0 asked before, and may have got
// an answer.
func (s *site) requireAskedAgain(answers []told, answered bool, seats int) {
	s.t.Helper()
	s.requireDecided("a")
	api := s.start("api")
	first := answers[0]
	s.askAll(api, "a", answers, 0, len(answers))
	if answered && (first.ID != answers[0].ID || first.Ticket != answers[0].Ticket) {
		s.t.Errorf("the first answer was %+v, and the second %+v", first, answers[0])
	}
	s.requireSettled("a", seats, answers)
}

// TestAnAPIThatIsKilledWhileItsCommitIsOnTheWay kills an API while Postgres has
// its statements and waits for a lock. Postgres gets the lock after the API is
// gone.
func TestAnAPIThatIsKilledWhileItsCommitIsOnTheWay(t *testing.T) {
	t.Parallel()
	const seats = 3
	s := newCrashSite(t)
	s.openCrashRun(seats)
	s.start("worker")
	api := s.start("api")
	answers := make([]told, 6)
	release := pgtest.Hold(t, s.url, `SELECT FROM lines FOR UPDATE`)
	asked := make(chan error, 1)
	go func() { asked <- s.ask(api, "a", 0, &told{}) }()
	pgtest.AwaitLockWaiters(t, s.url, 1)
	api.signal(syscall.SIGKILL)
	<-api.exited
	if err := <-asked; err == nil {
		t.Error("it was answered")
	}
	release()
	testwait.Until(t, "the request is in the line", func() bool { n, _ := s.inLine(); return n == 1 })
	s.requireAskedAgain(answers, false, seats)
}
