package intake_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/intake"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

func TestMain(m *testing.M) { testwait.Main(m) }

// start returns an intake into the database at url that runs until the test
// ends or stop is called, and what it notified of.
func start(t *testing.T, url string, change func(*intake.Options)) (in *intake.Intake, notified func() []enroll.Bundle, stop func()) {
	t.Helper()
	return startOn(t, pgtest.Open(t, url), change)
}

func startOn(t *testing.T, ledger intake.Ledger, change func(*intake.Options)) (in *intake.Intake, notified func() []enroll.Bundle, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	in, notified, ended := run(ctx, t, ledger, change)
	stop = func() { cancel(); ended() }
	t.Cleanup(stop)
	return in, notified, stop
}

// run returns an intake that runs until ctx ends, what it rang for, and a function
// that waits for its end.
func run(ctx context.Context, t *testing.T, ledger intake.Ledger, change func(*intake.Options)) (in *intake.Intake, notified func() []enroll.Bundle, ended func()) {
	t.Helper()
	o := intake.Options{Committers: 2, Waiting: 4000, Batch: 500, CommitTimeout: 30 * time.Second} // for a busy machine
	if change != nil {
		change(&o)
	}
	var mu sync.Mutex
	var bundles []enroll.Bundle
	in = intake.New(ledger, o, func(b enroll.Bundle) {
		mu.Lock()
		defer mu.Unlock()
		bundles = append(bundles, b)
	}, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	result := make(chan error, 1)
	go func() { result <- in.Run(ctx) }()
	ended = sync.OnceFunc(func() {
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
	return in, func() []enroll.Bundle {
		mu.Lock()
		defer mu.Unlock()
		return append([]enroll.Bundle(nil), bundles...)
	}, ended
}

// answer is what Accept returned.
type answer struct {
	enroll.Receipt
	err error
}

// acceptAll asks for all at once and returns the answers in the same order.
func acceptAll(in *intake.Intake, all []enroll.Submission) []answer {
	answers := make([]answer, len(all))
	var wg sync.WaitGroup
	for i, sub := range all {
		wg.Go(func() { answers[i].Receipt, answers[i].err = in.Accept(context.Background(), sub) })
	}
	wg.Wait()
	return answers
}

// inBackground is acceptAll, and returns a function that waits for the answers.
func inBackground(in *intake.Intake, all ...enroll.Submission) (answers func() []answer) {
	answered := make(chan []answer, 1)
	go func() { answered <- acceptAll(in, all) }()
	return func() []answer { return <-answered }
}

// behindOne asks for all of them: for the first, whose commit waits for the line
// that somebody holds, and then for the others, which wait behind it. When all of
// them wait it calls release, and returns the answers in the same order. Nothing
// else of the database may wait for a lock.
func behindOne(t *testing.T, url string, in *intake.Intake, release func(), all ...enroll.Submission) []answer {
	t.Helper()
	first := inBackground(in, all[0])
	pgtest.AwaitLockWaiters(t, url, 1)
	others := inBackground(in, all[1:]...)
	testwait.Until(t, "the others wait behind the first", func() bool { return in.Waiting() == len(all)-1 })
	release()
	return append(first(), others()...)
}

func TestAccept(t *testing.T) {
	t.Parallel()

	t.Run("takes what waits in one commit and notifies once per run", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		for _, run := range []string{"a", "b"} {
			enrolltest.OpenRun(t, pgtest.Open(t, url), run, nil)
		}
		in, notified, _ := start(t, url, func(o *intake.Options) { o.Committers = 1 })
		release := pgtest.Hold(t, url, `SELECT FROM lines FOR UPDATE`)
		var all []enroll.Submission
		for i := range 50 {
			all = append(all, enrolltest.Person("a", i), enrolltest.Person("b", i))
		}
		for _, a := range behindOne(t, url, in, release, all...) {
			if a.err != nil {
				t.Fatal(a.err)
			}
		}
		tickets := int64(0)
		for _, b := range notified() {
			tickets += b.Last - b.First + 1
		}
		if n := len(notified()); n != 3 || tickets != 100 { // the first, and one for each run
			t.Errorf("%d bundles with %d tickets", n, tickets)
		}
		pgtest.RequireSound(t, url)
	})

	t.Run("answers the same key alike, also within one batch", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		enrolltest.OpenRun(t, s, "a", nil)
		in, _, _ := start(t, url, nil)
		other, _, _ := start(t, url, nil) // another API process
		release := pgtest.Hold(t, url, `SELECT FROM lines FOR UPDATE`)
		var all []enroll.Submission
		for range 40 {
			all = append(all, enrolltest.Submission("a", "ada@example.org", "key"))
		}
		all = append(all, enrolltest.Submission("a", "bob@example.org", "other"))
		firstHere, firstThere := inBackground(in, all[0]), inBackground(other, all[0])
		pgtest.AwaitLockWaiters(t, url, 2)
		othersHere, othersThere := inBackground(in, all[1:]...), inBackground(other, all[1:]...)
		testwait.Until(t, "the others wait", func() bool { return in.Waiting() == 40 && other.Waiting() == 40 })
		release()
		here, there := append(firstHere(), othersHere()...), append(firstThere(), othersThere()...)
		first := here[0]
		for _, a := range append(here[:40:40], there[:40]...) {
			if a.err != nil || a.ID != first.ID || a.Ticket != first.Ticket || !a.AcceptedAt.Equal(first.AcceptedAt) {
				t.Errorf("got %+v, want %+v", a, first)
			}
		}
		if n := pgtest.Query[int64](t, url, `SELECT count(*) FROM requests`)[0]; n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		again := acceptAll(in, []enroll.Submission{enrolltest.Submission("a", "eve@example.org", "key")})[0]
		if enroll.CodeOf(again.err) != enroll.KeyReused {
			t.Errorf("another body under the key got %+v", again)
		}
		pgtest.RequireSound(t, url)
	})

	t.Run("refuses another body under a key within one batch", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		in, _, _ := start(t, url, nil)
		answers := acceptAll(in, []enroll.Submission{
			enrolltest.Submission("a", "ada@example.org", "key"), enrolltest.Submission("a", "eve@example.org", "key"),
		})
		codes := []enroll.Code{enroll.CodeOf(answers[0].err), enroll.CodeOf(answers[1].err)}
		if !(codes[0] == "" && codes[1] == enroll.KeyReused || codes[1] == "" && codes[0] == enroll.KeyReused) {
			t.Errorf("codes %q", codes)
		}
	})

	t.Run("says Busy at once when too many wait", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		in, _, _ := start(t, url, func(o *intake.Options) { o.Committers, o.Waiting, o.Batch = 1, 10, 1 })
		release := pgtest.Hold(t, url, `SELECT FROM lines FOR UPDATE`)
		first := inBackground(in, enrolltest.Person("a", 0))
		pgtest.AwaitLockWaiters(t, url, 1)
		codes := make(chan enroll.Code, 30)
		for i := range 30 {
			go func() {
				codes <- enroll.CodeOf(acceptAll(in, []enroll.Submission{enrolltest.Person("a", 1+i)})[0].err)
			}()
		}
		for range 20 { // ten may wait
			if code := testwait.Receive(t, "one who is too many is told so", codes); code != enroll.Busy {
				t.Errorf("got code %q", code)
			}
		}
		release()
		for range 10 {
			if code := testwait.Receive(t, "one who waits is accepted", codes); code != "" {
				t.Errorf("got code %q", code)
			}
		}
		if a := first()[0]; a.err != nil {
			t.Error(a.err)
		}
	})

	t.Run("lets one that cannot be stored stand alone", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		in, _, _ := start(t, url, func(o *intake.Options) { o.Committers = 1 })
		release := pgtest.Hold(t, url, `SELECT FROM lines FOR UPDATE`)
		var all []enroll.Submission
		for i := range 20 {
			all = append(all, enrolltest.Person("a", i))
		}
		all[13].Name = "N\x00UL" // validation would have refused it
		for i, a := range behindOne(t, url, in, release, all...) {
			if (i == 13) != (enroll.CodeOf(a.err) == enroll.Internal) || i != 13 && a.err != nil {
				t.Errorf("submission %d got %v", i, a.err)
			}
		}
		pgtest.RequireSound(t, url)
	})

	t.Run("lets a run whose line is held not hold up the others", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		held := enrolltest.OpenRun(t, s, "held", nil)
		enrolltest.OpenRun(t, s, "free", nil)
		impatient := pgtest.Options
		impatient.LockTimeout = 300 * time.Millisecond
		in, _, _ := startOn(t, pgtest.OpenWith(t, url, impatient), func(o *intake.Options) { o.Committers = 1 })
		defer pgtest.Hold(t, url, `SELECT FROM lines WHERE run_id = $1 FOR UPDATE`, held)()
		answers := acceptAll(in, []enroll.Submission{
			enrolltest.Person("held", 1), enrolltest.Person("free", 1), enrolltest.Person("held", 2), enrolltest.Person("free", 2),
		})
		for i, want := range []enroll.Code{enroll.LineBlocked, "", enroll.LineBlocked, ""} {
			if got := enroll.CodeOf(answers[i].err); got != want {
				t.Errorf("submission %d: code %q, want %q: %v", i, got, want, answers[i].err)
			}
		}
	})

	t.Run("commits what a client that went away asked for", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		in, _, _ := start(t, url, nil)
		release := pgtest.Hold(t, url, `SELECT FROM lines FOR UPDATE`)
		ctx, cancel := context.WithCancel(t.Context())
		a := enrolltest.Person("a", 1)
		answered := make(chan answer, 1)
		go func() {
			receipt, err := in.Accept(ctx, a)
			answered <- answer{receipt, err}
		}()
		pgtest.AwaitLockWaiters(t, url, 1)
		cancel()
		if got := testwait.Receive(t, "Accept returns", answered); enroll.CodeOf(got.err) != enroll.OutcomeUnknown || got.ID != a.ID {
			t.Errorf("got %+v", got)
		}
		release()
		testwait.Until(t, "the request is in the line", func() bool { return pgtest.Query[int64](t, url, `SELECT count(*) FROM requests`)[0] == 1 })
	})

	t.Run("commits what waits when it is stopped", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		in, notified, ended := run(ctx, t, pgtest.Open(t, url), func(o *intake.Options) { o.Committers, o.Batch = 1, 1 })
		release := pgtest.Hold(t, url, `SELECT FROM lines FOR UPDATE`)
		answers := inBackground(in, enrolltest.Person("a", 1), enrolltest.Person("a", 2), enrolltest.Person("a", 3))
		pgtest.AwaitLockWaiters(t, url, 1)
		testwait.Until(t, "two wait behind the first", func() bool { return in.Waiting() == 2 })
		stop()
		release()
		ended()
		for _, a := range answers() {
			if a.err != nil {
				t.Error(a.err)
			}
		}
		if n := len(notified()); n != 3 {
			t.Errorf("%d bundles, want 3", n)
		}
	})
}

func TestAcceptOverABrokenConnection(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]pgtest.Fault{"the request is lost": pgtest.CutRequest, "the reply is lost": pgtest.CutReply} {
		t.Run(name+": accepted once, and told so", func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
			proxy := pgtest.NewProxy(t, url)
			in, notified, _ := start(t, proxy.URL(), nil)
			acceptAll(in, []enroll.Submission{enrolltest.Person("a", 1)}) // the statements are prepared
			proxy.Set(fault)
			a := acceptAll(in, []enroll.Submission{enrolltest.Person("a", 2)})[0]
			if a.err != nil || a.Ticket != 2 || a.Again {
				t.Errorf("got %+v", a)
			}
			if bundles := notified(); len(bundles) != 2 || bundles[1].First != 2 {
				t.Errorf("notified of %+v", bundles)
			}
			pgtest.RequireSound(t, url)
		})
	}

	t.Run("nobody answers: who used somebody else's key does not hear of their request", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		proxy := pgtest.NewProxy(t, url)
		in, _, _ := start(t, proxy.URL(), func(o *intake.Options) { o.Committers, o.CommitTimeout = 1, 8*time.Second }) // a try has half of it, also on a busy machine
		// One is on its way, so that the next two travel together; and a second
		// lock catches them. It is the table's, whose waiters take their turn: for
		// a row that the first has written, the two can come before who waited.
		release := pgtest.Hold(t, url, `SELECT FROM lines FOR UPDATE`)
		second := make(chan func())
		first := inBackground(in, enrolltest.Person("a", 1))
		pgtest.AwaitLockWaiters(t, url, 1)
		go func() { second <- pgtest.Hold(t, url, `LOCK TABLE lines IN EXCLUSIVE MODE`) }()
		pgtest.AwaitLockWaiters(t, url, 2)
		ada, eve := enrolltest.Submission("a", "ada@example.org", "key"), enrolltest.Submission("a", "eve@example.org", "key")
		both := inBackground(in, ada, eve)
		testwait.Until(t, "both requests wait", func() bool { return in.Waiting() == 2 })
		release()
		first()
		defer (<-second)()
		pgtest.AwaitLockWaiters(t, url, 1)
		proxy.Set(pgtest.BlackHole)
		told := both()
		unknown, reused := 0, 0
		for _, a := range told {
			switch enroll.CodeOf(a.err) {
			case enroll.OutcomeUnknown:
				unknown++
				if a.ID != uuid.Nil {
					t.Errorf("an id was told, and another one may have the key")
				}
			case enroll.KeyReused:
				reused++
			default:
				t.Error(a.err)
			}
		}
		if unknown != 1 || reused != 1 {
			t.Errorf("got %v and %v", told[0].err, told[1].err)
		}
	})

	t.Run("nobody answers: the outcome is unknown, with the id it would have", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		proxy := pgtest.NewProxy(t, url)
		in, _, _ := start(t, proxy.URL(), func(o *intake.Options) { o.CommitTimeout = 8 * time.Second })
		acceptAll(in, []enroll.Submission{enrolltest.Person("a", 1)})
		proxy.Set(pgtest.BlackHole)
		application := enrolltest.Person("a", 2)
		a := acceptAll(in, []enroll.Submission{application})[0]
		if enroll.CodeOf(a.err) != enroll.OutcomeUnknown || a.ID != application.ID {
			t.Errorf("got %+v", a)
		}
	})

	t.Run("nobody is there: nothing is accepted, said at once", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		proxy := pgtest.NewProxy(t, url)
		proxy.Set(pgtest.Refuse)
		in, _, _ := start(t, proxy.URL(), nil)
		a := acceptAll(in, []enroll.Submission{enrolltest.Person("a", 1)})[0]
		if enroll.CodeOf(a.err) != enroll.Unavailable {
			t.Errorf("got %+v", a)
		}
		proxy.Set(pgtest.None)
		if a := acceptAll(in, []enroll.Submission{enrolltest.Person("a", 1)})[0]; a.err != nil || a.Ticket != 1 {
			t.Errorf("afterwards got %+v", a)
		}
	})
}
