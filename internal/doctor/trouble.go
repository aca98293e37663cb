package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Patience is how long a request may wait to be decided, and how long a
// transaction may hold a row, before the doctor reports it.
const Patience = 5 * time.Second

// Trouble is what the database server shows of work that is stuck.
type Trouble struct {
	Backlogs []enroll.Backlog     // lines whose next request has waited for Patience
	Holders  []enroll.Holder      // the transactions that hold rows of runs or heads of lines now
	Lanes    map[enroll.RunID]int // the pid of the session that holds each run's lane lock
	// SilentLanes are the sessions with lane locks, by pid, that have done nothing
	// for Patience, and for how long. A worker's session pings every second.
	SilentLanes map[int]time.Duration
	Mails       enroll.MailBacklog
	Server      Server
}

// Server is how durable the server keeps commits.
type Server struct {
	Standbys          int // that replicate from it
	Unseen            int // receivers of the log whose kind is not visible
	SyncStandbyNames  string
	ReadOnly          bool // a new transaction cannot write
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
			f.add(RowHeld, 0, "%s: if it does not end, %s", h, h.Remedy())
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
	var held []string
	for _, h := range t.Holders {
		if h.Run == b.Run && !h.Line {
			held = append(held, fmt.Sprintf("%s: if it does not end, %s", h, h.Remedy()))
		}
	}
	if len(held) > 0 {
		return strings.Join(held, "; ")
	}
	switch pid, served := t.Lanes[b.RunID]; {
	case t.Server.ReadOnly:
		return "the server is read-only"
	case served:
		return fmt.Sprintf("the session with pid %d has its lane but makes no progress: look at that worker's log", pid)
	case len(t.Lanes) == 0:
		return "no worker seems to be alive: no session holds a lane lock. Start one"
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
	for _, pid := range slices.Sorted(maps.Keys(t.SilentLanes)) {
		f.add(LaneSilent, 0, "the session with pid %d holds lane locks but has said nothing for %s: its process on the server's machine may be stopped: continue it with kill -CONT %d",
			pid, t.SilentLanes[pid].Round(time.Second), pid)
	}
	s := t.Server
	if s.ReadOnly {
		f.add(ReadOnly, 0, "the server is read-only, so requests are neither accepted nor decided: see default_transaction_read_only, and whether postgres.url leads to a standby")
	}
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
