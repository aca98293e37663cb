package systemtest

import (
	"syscall"
	"testing"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// What somebody sees whose request an API dies of.
const (
	noAnswer  = true  // none
	anyAnswer = false // none, or 202
)

// anAPIDies has the first request kill its API, after which so many are in the
// line. What is there is decided although nobody asks again, and no notification names a
// run of which the worker has never heard; who asks again has the same place.
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

// requireAskedAgain starts the API again as a supervisor does, and shows that
// everything that was accepted is decided without it, and that asking again gives
// nobody a second place. Person 0 asked before, and may have been answered.
func (s *site) requireAskedAgain(answers []told, answered bool, seats int) {
	s.t.Helper()
	s.requireDecided("a")
	api := s.start("api")
	first := answers[0]
	s.askAll(api, "a", answers, 0, len(answers))
	if answered && (first.ID != answers[0].ID || first.Ticket != answers[0].Ticket) {
		s.t.Errorf("who was told %+v was told %+v the second time", first, answers[0])
	}
	s.requireSettled("a", seats, answers)
}

// TestAnAPIThatIsKilledWhileItsCommitIsOnTheWay: Postgres has all of it and waits
// for a lock, which it gets when nobody is there any more.
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
