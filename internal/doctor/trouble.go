package doctor

import (
	"fmt"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Patience is how long a request may wait to be decided, and how long a
// transaction may hold a row, before the doctor reports it.
const Patience = time.Minute

// Trouble is what the database server shows of work that is stuck.
type Trouble struct {
	Backlogs []enroll.Backlog     // lines whose next request has waited for Patience
	Holders  []Holder             // the transactions that hold rows of runs or heads of lines now
	Lanes    map[enroll.RunID]int // the pid of the session that holds each run's lane lock
	Mails    enroll.MailBacklog
	Server   Server
}

// Holder is a transaction that holds a row which accepting or settling needs.
type Holder struct {
	Run         string // the slug
	Line        bool   // the head of the line, not the run's row
	PID         int    // 0 = a prepared transaction
	Application string
	State       string        // as in pg_stat_activity; empty = not visible
	Age         time.Duration // of the transaction; 0 = not visible
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
		return fmt.Sprintf("pid %d holds %s (grant pg_read_all_stats to see more)", h.PID, row)
	default:
		return fmt.Sprintf("pid %d (%s, %s) has held %s for up to %s", h.PID, h.Application, h.State, row, h.Age.Round(time.Second))
	}
}

// Server is how durable the server keeps commits.
type Server struct {
	Standbys          int // that replicate from it
	Unseen            int // receivers of the log whose kind is not visible
	SyncStandbyNames  string
	Fsync             bool
	FullPageWrites    bool
	SynchronousCommit string
}

// ofRun returns the findings about one run. blocked tells that missing tickets
// block its line.
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
		return "was accepted in the future (the clock was set back)"
	}
	return "has waited for " + b.Age.Round(time.Second).String()
}

// reason says why a line is stuck, as far as the server shows it.
func (t Trouble) reason(b enroll.Backlog, blocked bool) string {
	if blocked {
		return "tickets are missing, and no ticket after a hole is settled"
	}
	for _, h := range t.Holders {
		if h.Run == b.Run && !h.Line {
			return h.String()
		}
	}
	switch pid, served := t.Lanes[b.RunID]; {
	case served:
		return fmt.Sprintf("the session with pid %d has its lane but makes no progress", pid)
	case len(t.Lanes) == 0:
		return "no worker seems to be alive: no session holds a lane lock"
	default:
		return "no worker has its lane, although other runs are served"
	}
}

// ofAll returns the findings about the installation.
func (t Trouble) ofAll() []Finding {
	var f findings
	if m := t.Mails; m.Overdue > 0 {
		f.add(MailsWaiting, 0, "mails that have waited for more than an hour: %d, the oldest for %s; of these without a single attempt: %d",
			m.Overdue, m.Oldest.Round(time.Second), m.Untried)
	}
	s := t.Server
	warn := func(code Code, format string, args ...any) { f.add(code, 0, format, args...).Warning = true }
	asynchronous := s.SyncStandbyNames == "" || s.SynchronousCommit == "local" || s.SynchronousCommit == "off"
	const lost = "a failover can lose the last commits, and with them accepted requests"
	switch {
	case s.Standbys > 0 && asynchronous:
		warn(AsyncStandby, "asynchronous standbys: %d; %s (see synchronous_standby_names)", s.Standbys, lost)
	case s.Unseen > 0 && asynchronous:
		warn(AsyncStandby, "receivers of the log: %d; grant pg_read_all_stats to see whether they are asynchronous standbys; if so, %s", s.Unseen, lost)
	}
	if !s.Fsync {
		warn(Fsync, "fsync is off: a crash of the server's machine can destroy the ledger")
	}
	if !s.FullPageWrites {
		warn(FullPageWrites, "full_page_writes is off: a crash of the server's machine can destroy the ledger")
	}
	if s.SynchronousCommit == "off" {
		warn(SynchronousCommit, "synchronous_commit is off: a crash of the server can lose accepted requests")
	}
	return f.all()
}
