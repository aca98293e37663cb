package lane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/redistest"
)

// heldRows is a ledger in which the transactions hold the rows.
type heldRows struct {
	Ledger
	holders []enroll.Holder
	err     error
	looks   int
}

func (h *heldRows) Holders(context.Context, []enroll.RunID) ([]enroll.Holder, error) {
	h.looks++
	return h.holders, h.err
}

// watcher sees standing lines, with a clock of its own.
type watcher struct {
	standingLines
	t   *testing.T
	reg *prometheus.Registry
	out bytes.Buffer
	now time.Time
}

func newWatcher(t *testing.T, ledger Ledger, server *redistest.Server) *watcher {
	t.Helper()
	w := &watcher{t: t, reg: prometheus.NewRegistry(), now: time.Now()}
	w.standingLines = standingLines{
		lines: make(map[enroll.RunID]*standingLine), ledger: ledger, redis: server.Client(), timeout: 10 * time.Second,
		log: slog.New(slog.NewTextHandler(&w.out, nil)), metrics: NewMetrics(w.reg),
	}
	return w
}

// at looks when so much time has passed, and requires that the log then says
// the words of want, or nothing if there are none.
func (w *watcher) at(after time.Duration, lines []enroll.Backlog, want ...string) {
	w.t.Helper()
	w.out.Reset()
	w.look(w.t.Context(), nil, lines, w.now.Add(after))
	said := w.out.String()
	if len(want) == 0 && said != "" {
		w.t.Errorf("after %s it says %s", after, said)
	}
	for _, words := range want {
		if !strings.Contains(said, words) {
			w.t.Errorf("after %s it says %q, want %q", after, said, words)
		}
	}
}

// shows returns what the metric shows, by run.
func (w *watcher) shows() map[string]float64 {
	w.t.Helper()
	families, err := w.reg.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	shown := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "lastseat_line_standing_seconds" {
				shown[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	return shown
}

func waits(settled int64, age time.Duration) []enroll.Backlog {
	return []enroll.Backlog{{RunID: 7, Run: "a", Settled: settled, Age: age}}
}

func TestStandingLines(t *testing.T) {
	t.Parallel()
	held := &heldRows{holders: []enroll.Holder{
		{Run: "a", PID: 41, Application: "psql", State: "idle in transaction"},
		{Run: "a", PID: 42, Application: "other", State: "active"},
		{Run: "a", PID: 43, Line: true, State: "active"}, // accepting waits for it, but the line does not
	}}

	t.Run("are named with growing gaps, and when they move", func(t *testing.T) {
		t.Parallel()
		w := newWatcher(t, held, redistest.Start(t))
		w.at(0, waits(4, 1200*time.Millisecond))
		w.at(time.Second, waits(4, 2200*time.Millisecond), "level=WARN", "run=a", "ticket=5", "stood_for=2.2s",
			"pid 41 (psql, idle in transaction)", "pid 42 (other, active)", "pg_terminate_backend(41)")
		if strings.Contains(w.out.String(), "pid 43") || w.shows()["a"] != 2.2 {
			t.Errorf("it says %s and shows %v", &w.out, w.shows())
		}
		w.at(2*time.Second, waits(4, 3200*time.Millisecond))
		w.at(3*time.Second, waits(4, 4200*time.Millisecond))
		w.redis.Del(t.Context(), "lastseat:1:standing:7:4") // its time has passed
		w.at(4*time.Second, waits(4, 5200*time.Millisecond), "stood_for=5.2s")
		w.redis.Del(t.Context(), "lastseat:1:standing:7:4")
		w.at(9*time.Second, waits(4, 10200*time.Millisecond))
		w.at(10*time.Second, waits(4, 11200*time.Millisecond), "stood_for=11.2s")
		w.at(11*time.Second, nil, "level=INFO", "a line moves again", "run=a", "stood_for=12.2s")
		if n := len(w.shows()); n != 0 {
			t.Errorf("the metric still shows %d lines", n)
		}
		w.at(12*time.Second, nil)
	})

	t.Run("do not include a long line that moves, or one that has waited for a worker", func(t *testing.T) {
		t.Parallel()
		ledger := &heldRows{}
		w := newWatcher(t, ledger, redistest.Start(t))
		for n := range time.Duration(10) {
			w.at(n*time.Second, waits(int64(n), time.Minute))
		}
		if ledger.looks != 0 || len(w.lines) != 1 || len(w.shows()) != 0 {
			t.Errorf("it asked %d times for holders and remembers %v", ledger.looks, w.lines)
		}
	})

	t.Run("are named by one of several workers", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		one, other := newWatcher(t, held, server), newWatcher(t, held, server)
		for _, w := range []*watcher{one, other} {
			w.at(0, waits(4, 61*time.Second))
		}
		one.at(time.Second, waits(4, 62*time.Second), "stood_for=1m2s")
		other.at(time.Second, waits(4, 62*time.Second))
		one.at(2*time.Second, nil, "moves again")
		other.at(2*time.Second, nil)
	})

	t.Run("are named by every worker without Redis, and if the holders are unknown", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		w := newWatcher(t, &heldRows{err: errors.New("canceled")}, server)
		server.Kill()
		w.at(0, waits(4, time.Second))
		w.at(time.Second, waits(4, 2*time.Second), "run=a", "waits_for=unknown", "error=canceled")
	})

	t.Run("are shown up to a limit", func(t *testing.T) {
		t.Parallel()
		w := newWatcher(t, &heldRows{}, redistest.Start(t))
		var lines []enroll.Backlog
		for n := range 2 * mostShown {
			lines = append(lines, enroll.Backlog{RunID: enroll.RunID(n + 1), Run: fmt.Sprint("run-", n), Age: time.Duration(30-n) * time.Second})
		}
		w.at(0, lines)
		w.at(time.Second, lines, "run-0", "waits_for=\"no other transaction")
		if n := len(w.shows()); n != mostShown {
			t.Errorf("the metric shows %d lines", n)
		}
		if v := w.shows()["run-0"]; v != 31 {
			t.Errorf("it shows %v for the line that has stood for longest", v)
		}
	})

	t.Run("are not forgotten by a look at other runs", func(t *testing.T) {
		t.Parallel()
		w := newWatcher(t, held, redistest.Start(t))
		w.at(0, waits(4, time.Second))
		w.look(t.Context(), []enroll.RunID{8}, nil, w.now.Add(time.Second/2))
		w.at(time.Second, waits(4, 2*time.Second), "run=a")
	})
}
