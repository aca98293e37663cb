// Package chaos is `make chaos`: people ask, cancel and wait while everything that
// can break does, and then every promise is checked.
//
//	chaos.go    the command: starting, breaking, healing, judging
//	system.go   the services and programs that are broken; program.go: one program
//	schedule.go which fault happens when
//	faults.go   all faults. fault_program.go: of programs and their connections;
//	            fault_postgres.go, fault_redis.go, fault_disk.go, fault_mail.go;
//	            fault_organiser.go: changes that an organiser makes meanwhile
//	people.go   the people, who go on all the while
//	watch.go    what is noted meanwhile, and when nothing is left to do
//	judge.go    the verdict; result.go: what is printed
package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/dev/stack"
)

// plan is what chaos is to be like.
type plan struct {
	seconds int      // during which faults begin; healing comes after that
	seed    uint64   // of the faults and of what people do
	kinds   []string // of faults; empty = all
	json    bool
}

// parse reads the arguments of `dev chaos`.
func parse(args []string) (p plan, err error) {
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&p.seconds, "seconds", 60, "")
	flags.Uint64Var(&p.seed, "seed", uint64(rand.Uint32()), "") //nolint:gosec // it need not be hard to guess
	flags.Func("faults", "", proc.ListOf("fault", faultKinds(), &p.kinds))
	flags.BoolVar(&p.json, "json", false, "")
	err = flags.Parse(args)
	if err == nil && (flags.NArg() > 0 || p.seconds < 1 || p.seconds > 86_400) {
		err = errors.New("out of range")
	}
	return p, err
}

// Command is `dev chaos`.
func Command(ctx context.Context, t *stack.Tool, args []string) error {
	p, err := parse(args)
	if err != nil {
		fmt.Fprintln(t.Stderr, "chaos: SECONDS (-seconds) must be 1 to 86400, SEED (-seed) a whole number, 0 or more, "+
			"and FAULTS (-faults) some of "+strings.Join(faultKinds(), ","))
		return proc.ExitUsage
	}
	return proc.OrInterrupted(ctx, t.WithFolder(ctx, "chaos", true, func(ctx context.Context, g *proc.Group, f *stack.Folder) error {
		r, err := execute(ctx, t, g, f, p)
		if err == nil {
			r.writeTable(t.Stdout)
			if p.json {
				err = json.NewEncoder(t.Stdout).Encode(r.numbers)
			}
		}
		if err = errors.Join(err, r.err()); err != nil && ctx.Err() == nil {
			t.Log.Printf("what is left of it, the database and all logs, is in %s", f.Path)
			t.Log.Printf("again: make chaos SECONDS=%d SEED=%d FAULTS=%s", p.seconds, p.seed, strings.Join(p.kinds, ","))
		}
		return err
	}))
}

// execute starts everything, lets people in, injects faults, waits until nothing
// is left to do, and judges.
func execute(ctx context.Context, t *stack.Tool, g *proc.Group, f *stack.Folder, p plan) (*result, error) {
	s, err := startSystem(ctx, t, g, f, p)
	if err != nil {
		return &result{}, err
	}
	defer s.stop()
	if s.people, err = newPeople(ctx, s, p.seed); err != nil {
		return &result{}, err
	}
	t.Log.Printf("seed %d: %d runs, and faults for %d seconds", p.seed, len(s.people.runs), p.seconds)
	for kind, why := range s.impossible() {
		t.Log.Printf("%s is not possible here: %s", kind, why)
	}
	if len(s.possible(p)) == 0 {
		return &result{}, errors.New("none of the faults that are asked for can be made here")
	}
	mails, lines := s.collectMails(ctx), s.watchLines(ctx)
	injected, err := s.breakWhilePeopleAct(ctx, p)
	if err != nil {
		return &result{}, err
	}
	t.Log.Printf("everything is healed: waiting until it is quiet")
	pending, err := s.awaitIdle(ctx)
	if err != nil {
		return &result{}, err
	}
	if err := s.people.refreshAll(ctx); err != nil {
		return &result{}, err
	}
	return s.judge(ctx, p, observations{injected, mails(), lines(), pending})
}

// breakWhilePeopleAct injects faults while people come, and returns the faults when
// all are healed and all people have left.
func (s *system) breakWhilePeopleAct(ctx context.Context, p plan) (all []injected, err error) {
	admission, endAdmission := context.WithCancel(ctx)
	defer endAdmission()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.people.act(ctx, admission) })
	g.Go(func() (err error) {
		defer endAdmission()
		all, err = s.injectFaults(ctx, p)
		return err
	})
	g.Go(func() error {
		defer s.tool.Log.Progress(ctx, 2*time.Second, s.people.String)()
		<-admission.Done()
		return nil
	})
	err = g.Wait()
	return all, err
}

// idlePatience is how long the system may take until nothing is left to do: the
// task of a worker that was killed comes back after two minutes at most.
const idlePatience = 4 * time.Minute
