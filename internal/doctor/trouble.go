package doctor

import (
	"fmt"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Patience is how long a request may wait for its turn, and somebody hold a row,
// before the doctor speaks of it.
const Patience = time.Minute

// Trouble is what the ledger's server shows of work that does not get on.
type Trouble struct {
	Backlogs []enroll.Backlog     // lines whose next request has waited for Patience
	Holders  []Holder             // of rows of runs and heads of lines, at this instant
	Lanes    map[enroll.RunID]int // the sessions that hold lane locks
	Mails    enroll.MailBacklog
	Server   Server
}

// Holder is a transaction that holds a row which accepting or settling needs.
type Holder struct {
	Run         string // the slug
	Line        bool   // the head of the line, not the run's row
	PID         int    // 0 = a prepared transaction
	Application string
	State       string        // as in pg_stat_activity; empty = it cannot be seen
	Age         time.Duration // of the transaction; 0 = it cannot be seen
}

func (h Holder) String() string {
	row := "the run's row"
	if h.Line {
		row = "the head of the line"
	}
	switch {
	case h.PID == 0:
		return "a prepared transaction holds " + row
	case h.State == "":
		return fmt.Sprintf("pid %d holds %s (more can be seen with the right pg_read_all_stats)", h.PID, row)
	default:
		return fmt.Sprintf("pid %d (%s, %s) has held %s for up to %s", h.PID, h.Application, h.State, row, h.Age.Round(time.Second))
	}
}

// Server is how the server keeps what is committed.
type Server struct {
	Standbys          int // that receive from it
	Unseen            int // processes that receive from it, and nobody lets us see what they are
	SyncStandbyNames  string
	Fsync             bool
	FullPageWrites    bool
	SynchronousCommit string
}

// ofRun returns what the trouble means for one run, of which it is known whether
// missing tickets block its line.
func (t Trouble) ofRun(run string, blocked bool) []Finding {
	f := findings{run: run}
	behind := false
	for _, b := range t.Backlogs {
		if b.Run == run {
			behind = true
			f.add(LineBehind, 0, "its next request %s: %s", waited(b), t.reason(b, blocked))
		}
	}
	for _, h := range t.Holders {
		if h.Run == run && h.Age >= Patience && (h.Line || !behind) {
			f.add(RowHeld, 0, "%s", h)
		}
	}
	return f.all()
}

func waited(b enroll.Backlog) string {
	if b.Age < 0 {
		return "was accepted at an instant that is yet to come (the clock was set back)"
	}
	return "has waited for " + b.Age.Round(time.Second).String()
}

// reason says what can be seen of why a line does not get on.
func (t Trouble) reason(b enroll.Backlog, blocked bool) string {
	if blocked {
		return "tickets are missing, and nothing is settled beyond a hole"
	}
	for _, h := range t.Holders {
		if h.Run == b.Run && !h.Line {
			return h.String()
		}
	}
	switch pid, served := t.Lanes[b.RunID]; {
	case served:
		return fmt.Sprintf("the session with pid %d has its lane, and does not get on", pid)
	case len(t.Lanes) == 0:
		return "no worker seems to be alive: no session holds a lane lock"
	default:
		return "no worker serves it; others are served"
	}
}

// ofAll returns what the trouble means for the installation.
func (t Trouble) ofAll() []Finding {
	var f findings
	if m := t.Mails; m.Overdue > 0 {
		f.add(MailsWaiting, 0, "mails that have waited for more than an hour: %d, the oldest for %s; without a single attempt: %d",
			m.Overdue, m.Oldest.Round(time.Second), m.Untried)
	}
	s := t.Server
	warn := func(code Code, format string, args ...any) { f.add(code, 0, format, args...).Warning = true }
	asynchronous := s.SyncStandbyNames == "" || s.SynchronousCommit == "local" || s.SynchronousCommit == "off"
	const lost = "a failover can lose the last commits, and with them requests that were accepted"
	switch {
	case s.Standbys > 0 && asynchronous:
		warn(AsyncStandby, "asynchronous standbys: %d; %s (see synchronous_standby_names)", s.Standbys, lost)
	case s.Unseen > 0 && asynchronous:
		warn(AsyncStandby, "receivers of the log, of whom it takes the right pg_read_all_stats to see whether they are asynchronous standbys: %d; if so, %s", s.Unseen, lost)
	}
	if !s.Fsync {
		warn(Fsync, "fsync is off: a crash of the server's machine can destroy the ledger")
	}
	if !s.FullPageWrites {
		warn(FullPageWrites, "full_page_writes is off: a crash of the server's machine can destroy the ledger")
	}
	if s.SynchronousCommit == "off" {
		warn(SynchronousCommit, "synchronous_commit is off: a crash of the server can lose requests that were accepted")
	}
	return f.all()
}
