package systemtest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// aWorkerDies kills the only worker, with a part of the line decided. The API
// answers as before, and the next worker decides the rest in ticket order.
func aWorkerDies(decides bool) crash {
	return func(t *testing.T, at crashpoint.Point) {
		const seats = 3
		s := newCrashSite(t)
		s.openCrashRun(seats)
		api := s.start("api")
		worker := s.startToDie("worker", string(at))
		answers := make([]told, 6)
		s.askAll(api, "a", answers, 0, 2)
		worker.requireDead()
		if _, decided := s.inLine(); (decided > 0) != decides {
			t.Errorf("%d are decided", decided)
		}
		s.askAll(api, "a", answers, 2, len(answers))
		s.start("worker")
		s.requireSettled("a", seats, answers)
	}
}

// theAnnouncementDies checks that a held poll gets its outcome without the
// announcement, because the API also looks by itself.
func theAnnouncementDies(t *testing.T, at crashpoint.Point) {
	const seats = 1
	const looks = 3 * time.Second // how often the API looks
	s := newCrashSite(t)
	s.openCrashRun(seats)
	api := s.start("api")
	answers := make([]told, 3)
	s.askAll(api, "a", answers, 0, 1)
	outcome := make(chan told, 1)
	go func() {
		var got told
		defer func() { outcome <- got }()
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+api.API+"/v1/registrations/"+answers[0].ID.String()+"?wait=20", nil)
		if err == nil {
			err = do(r, http.StatusOK, &got)
		}
		if err != nil {
			t.Error(err)
		}
	}()
	testwait.Until(t, "the poll is held", func() bool { return strings.Contains(api.metrics(), "\nlastseat_people_waiting 1\n") })
	s.startToDie("worker", string(at)).requireDead()
	died := time.Now()
	if got := <-outcome; got.Status != "confirmed" {
		t.Errorf("the poll was answered %+v", got)
	}
	if s.promised > 0 {
		testwait.Promised(t, "answering the poll", time.Since(died), looks+2*time.Second)
	}
	s.askAll(api, "a", answers, 1, len(answers))
	s.start("worker")
	s.requireSettled("a", seats, answers)
}

// aWorkerThatStopsDies kills a stopping worker before it has told the others.
// One of them remembers that the lane is elsewhere.
func aWorkerThatStopsDies(t *testing.T, at crashpoint.Point) {
	const seats = 3
	s := newCrashSite(t)
	s.env = append(s.env, "LASTSEAT_WORKER_LANE_IDLE=1m")
	s.openCrashRun(seats)
	api := s.start("api")
	worker := s.startToDie("worker", string(at))
	answers := make([]told, 6)
	s.askAll(api, "a", answers, 0, 1)
	s.requireDecided("a")
	s.start("worker")
	s.askAll(api, "a", answers, 1, 3) // the other worker hears of it, too
	worker.signal(syscall.SIGTERM)
	worker.requireDead()
	s.askAll(api, "a", answers, 3, len(answers))
	s.requireSettled("a", seats, answers)
}

// aRunIsCalledOffByHalves checks that the steps that were done stay done, and
// that the next worker does the rest. All people lose their seats once and are
// told once.
func aRunIsCalledOffByHalves(t *testing.T, at crashpoint.Point) {
	const people, step = 12, 5
	s := newCrashSite(t)
	s.openCrashRun(people)
	pgtest.AddAdmin(t, s.url)
	api := s.start("api")
	seating := s.start("worker")
	s.askAll(api, "a", make([]told, people), 0, people)
	s.requireDecided("a")
	seating.stop()

	s.env = append(s.env, fmt.Sprintf("LASTSEAT_SETTLE_BUDGET=%d", step))
	worker := s.startToDie("worker", string(at)+":2")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+api.API+"/v1/runs/a/call-off", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+pgtest.AdminToken)
	var accepted map[string]any
	if err := do(r, http.StatusAccepted, &accepted); err != nil {
		t.Fatal(err)
	}
	worker.requireDead()
	if seated := s.seated(); seated != people-2*step {
		t.Errorf("after two steps %d have a seat", seated)
	}
	if err := s.ask(api, "a", people, &told{}); err == nil || !strings.Contains(err.Error(), "called_off") {
		t.Errorf("a request in the meantime was answered %v", err)
	}
	s.start("worker")
	s.requireDecided("a")
	pgtest.RequireSound(t, s.url)
	if seated := s.seated(); seated != 0 {
		t.Errorf("%d have a seat still", seated)
	}
	const outcomes = `SELECT status || ' ' || reason || ' ' || count(*) FROM requests WHERE kind = 'register' GROUP BY status, reason`
	if got := strings.Join(pgtest.Query[string](t, s.url, outcomes), ", "); got != "cancelled called_off 12" {
		t.Errorf("they were told %s", got)
	}
	if n := pgtest.Query[int64](t, s.url, `SELECT count(*) FROM mails WHERE kind = 'called_off'`)[0]; n != people {
		t.Errorf("%d mails tell of it", n)
	}
}

func (s *site) seated() int64 {
	s.t.Helper()
	return pgtest.Query[int64](s.t, s.url, `SELECT count(*) FROM attendances`)[0]
}

// theEndOfAListIsNotNotified checks that the end of the list is in the line
// once, even if it is asked for again, and that the sweep finds it.
func theEndOfAListIsNotNotified(t *testing.T, at crashpoint.Point) {
	s := newCrashSite(t)
	now := time.Now()
	enrolltest.CreateRun(t, pgtest.Open(t, s.url), enroll.Run{
		Slug: "a", Capacity: enrolltest.Seats(1), WaitlistCapacity: enrolltest.Seats(5), OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour),
	})
	api := s.start("api")
	seating := s.start("worker")
	s.askAll(api, "a", make([]told, 2), 0, 2)
	s.requireDecided("a")
	seating.stop()
	pgtest.Exec(t, s.url, `UPDATE runs SET promote_until = now()`)
	s.startToDie("worker", string(at)).requireDead()
	if all, decided := s.inLine(); all != 3 || decided != 2 {
		t.Errorf("of %d in the line %d are decided", all, decided)
	}
	s.start("worker")
	s.requireDecided("a")
	pgtest.RequireSound(t, s.url)
	const line = `SELECT kind || ' ' || status FROM requests ORDER BY ticket`
	if got := strings.Join(pgtest.Query[string](t, s.url, line), ", "); got != "register confirmed, register not_promoted, close_waitlist done" {
		t.Errorf("the line is %s", got)
	}
}
