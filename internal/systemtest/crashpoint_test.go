package systemtest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// crash makes a process die at a point, starts another one as a supervisor
// does, and checks every outcome. docs/design.md has the same as a table.
type crash func(t *testing.T, at crashpoint.Point)

var crashes = map[crashpoint.Point]crash{
	// The API dies before it answers, so the client asks again.
	crashpoint.AcceptBegun:     anAPIDies(noAnswer, 0),
	crashpoint.AcceptCommitted: anAPIDies(noAnswer, 1),
	crashpoint.AcceptNotified:  anAPIDies(noAnswer, 1),
	// The answer may be 202 or missing, because both happen at the same time.
	crashpoint.NotifyBegun:    anAPIDies(anyAnswer, 1),
	crashpoint.NotifyEnqueued: anAPIDies(anyAnswer, 1),

	// From here on every client gets its 202 at once, and the outcome later.
	crashpoint.LaneLocked:      aWorkerDies(false),
	crashpoint.SettleRead:      aWorkerDies(false),
	crashpoint.SettleCommitted: theAnnouncementDies,
	crashpoint.SettleMore:      aRunIsCalledOffByHalves,
	crashpoint.TaskServed:      aWorkerDies(true),
	crashpoint.LaneEnded:       aWorkerDies(true),
	crashpoint.LaneReleased:    aWorkerDies(true),
	crashpoint.LanesLeft:       aWorkerThatStopsDies,
	crashpoint.ListEndAccepted: theEndOfAListIsNotNotified,

	crashpoint.RoundWritten:  theRelayDiesWithReminders,
	crashpoint.RelayDue:      aMailIsInterrupted("pending 1", 1),
	crashpoint.RelayEnqueued: aMailIsInterrupted("pending 1", 1),
	crashpoint.MailTaken:     aMailIsInterrupted("pending 1", 1),
	crashpoint.MailClaimed:   aMailIsInterrupted("pending 1", 1),
	crashpoint.MailSent:      aMailIsInterrupted("pending 1", 2), // the one window in which a mail arrives twice
	crashpoint.MailNoted:     aMailIsInterrupted("sent 1", 1),
}

// TestCrashPoints shows for each point that a process dies there and that
// nothing is lost. These tests show the same for a lost reply, with every
// process alive:
//
//	the commit that accepts     internal/intake and internal/postgres, TestAcceptOverABrokenConnection;
//	                            internal/httpapi, TestPostgres_that_breaks_off_during_a_commit_costs_no_ticket
//	the end of a waiting list   internal/waitlist, TestTheEndOfAListIsLost
//	what settling reads         internal/postgres, TestSettleAtTheSameTime/a_settler_whose_connection_dies_…;
//	                            internal/lane, TestTimingWhatASettlementReadsIsLostWithoutNotice
//	what settling commits       internal/lane, TestTimingTheReplyToASettlementIsLost
//	lane locks                  internal/lane, TestTimingAWordOnTheLockConnectionIsLost
//	the sweep's look            internal/lane, TestTimingALookAtTheLinesIsLost
//	enqueueing and waking       internal/lane, TestTimingANotificationIsLost; the subscription, TestLanesInTrouble/a_connection_to_Redis_…
//	a lane and its queue        internal/lane, TestTimingAWordBetweenALaneAndItsQueueIsLost
//	what is announced           internal/watch, TestWait/finds_out_by_itself_when_a_message_is_lost
//	relay, deliverer, outbox    internal/mailqueue, TestTimingAWordToTheOutboxIsLost
//	relay, deliverer and queue  internal/mailqueue, TestAWordToTheQueueIsLost
//	the answer to a mail        internal/smtp, TestReuse/a_message_whose_answer_is_lost_…;
//	                            TestAWorkerThatIsKilledBeforeItNotesWhatItSent
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	showCrashes(t, crashpoint.All()...)
}

// TestTimingCrashPoints shows for one point of each kind how soon the line
// moves again.
func TestTimingCrashPoints(t *testing.T) {
	t.Parallel()
	showCrashes(t, crashpoint.AcceptCommitted, crashpoint.LaneLocked, crashpoint.SettleCommitted, crashpoint.LanesLeft)
}

func showCrashes(t *testing.T, points ...crashpoint.Point) {
	for _, at := range points {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			show := crashes[at]
			if show == nil {
				t.Fatal("no test shows what happens if a process dies here")
			}
			show(t, at)
		})
	}
}

// found is the time in which a line is decided of which no worker was notified,
// with the settings of newCrashSite: after a second its request counts as
// waiting, then a sweep over all runs finds it, every half second instead of
// every ten. The rest is for a busy machine.
const found = 5 * time.Second

// newCrashSite returns a site whose workers sweep often.
func newCrashSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	if strings.HasPrefix(t.Name(), "TestTiming") {
		s.promised = found
	}
	s.env = []string{"LASTSEAT_WORKER_SWEEP_INTERVAL=200ms", "LASTSEAT_WORKER_SWEEP_ALL_INTERVAL=500ms", "LASTSEAT_WORKER_LANE_IDLE=200ms"}
	return s
}

// crashing is the folder with the programs that have crash points.
var crashing = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(bin, "crashing")
	return dir, buildPrograms(dir, "-tags", "crashpoints")
})

// startToDie starts api or worker, which will die at the point, perhaps before
// it is ready. "point:n" means the n-th time that it gets there.
func (s *site) startToDie(program, at string) *process {
	s.t.Helper()
	dir, err := crashing()
	if err != nil {
		s.t.Fatal(err)
	}
	p := s.launch(filepath.Join(dir, program), crashpoint.Variable+"="+at)
	p.becomesReady()
	return p
}

// requireDead waits until the program has died at its point. Nothing else kills
// it, so this also shows that it got there.
func (p *process) requireDead() {
	p.t.Helper()
	testwait.Receive(p.t, "it comes to its crash point", p.exited)
	if status := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		p.t.Fatalf("it did not die at its crash point: %s", p.cmd.ProcessState)
	}
}

// inLine returns how many requests are in the lines, and how many of them are
// decided.
func (s *site) inLine() (all, decided int64) {
	s.t.Helper()
	all = pgtest.Query[int64](s.t, s.url, `SELECT sum(last_ticket)::bigint FROM lines`)[0]
	return all, pgtest.Query[int64](s.t, s.url, `SELECT sum(settled_ticket)::bigint FROM runs`)[0]
}

// askAll asks for a seat for each of these people, and requires 202.
func (s *site) askAll(api *process, run string, answers []told, from, upTo int) {
	s.t.Helper()
	for n := from; n < upTo; n++ {
		if err := s.ask(api, run, n, &answers[n]); err != nil {
			s.t.Fatalf("person %d: %v", n, err)
		}
	}
}

// TestDeployedProgramsHaveNoCrashPoints checks that the variable cannot kill a
// deployed program, and that the program refuses the variable instead of
// ignoring it.
func TestDeployedProgramsHaveNoCrashPoints(t *testing.T) {
	t.Parallel()
	words := func(path string) (found []string) {
		program, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range crashpoint.All() {
			if bytes.Contains(program, []byte(p)) {
				found = append(found, string(p))
			}
		}
		if bytes.Contains(program, []byte(crashpoint.Variable)) {
			found = append(found, crashpoint.Variable)
		}
		return found
	}
	dir, err := crashing()
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"api", "worker"} {
		if found := words(filepath.Join(bin, program)); found != nil {
			t.Errorf("%s contains %q", program, found)
		}
		if found := words(filepath.Join(dir, program)); len(found) != len(crashpoint.All())+1 {
			t.Errorf("with crash points, %s contains only %q: the search proves nothing", program, found)
		}
		code, out := runProgram(t, []string{crashpoint.Variable + "=" + string(crashpoint.AcceptBegun)}, program)
		if code != 1 || !strings.Contains(out, crashpoint.Variable+": unknown variable") {
			t.Errorf("%s: status %d: %s", program, code, out)
		}
	}
}

// TestAnUnknownCrashPoint checks that an unknown point ends the program at
// once. Otherwise a test would wait in vain for the program to die.
func TestAnUnknownCrashPoint(t *testing.T) {
	t.Parallel()
	if _, err := crashing(); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{"", "lunch", "accept-begun:", "accept-begun:0", "accept-begun:once"} {
		code, out := runProgram(t, []string{crashpoint.Variable + "=" + at}, "crashing/api")
		if code != 2 || !strings.Contains(out, "is not a crash point") {
			t.Errorf("%q: status %d: %s", at, code, out)
		}
	}
}

// openCrashRun opens the run "a" with some seats.
func (s *site) openCrashRun(seats int) {
	s.t.Helper()
	enrolltest.OpenRun(s.t, pgtest.Open(s.t, s.url), "a", enrolltest.Seats(seats))
}
