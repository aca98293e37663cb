package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lastseat/lastseat/internal/dev/proc"
	"github.com/lastseat/lastseat/internal/faultproxy"
)

// chooser chooses a program and locks it.
type chooser func(s *system, r *rand.Rand) *program

func (s *system) randomAPI(r *rand.Rand) *program { return lock(s.programs[r.IntN(apiCount)]) }

func (s *system) randomWorker(r *rand.Rand) *program {
	return lock(s.programs[apiCount+r.IntN(workerCount)])
}

func lock(p *program) *program {
	p.Lock()
	return p
}

// randomConnection locks a program and returns the proxy to one of its services,
// and a name for the connection.
func (s *system) randomConnection(r *rand.Rand) (*program, *faultproxy.Proxy, string) {
	p := lock(s.programs[r.IntN(len(s.programs))])
	if r.IntN(2) == 0 {
		return p, p.toPostgres, p.Name + " to Postgres"
	}
	return p, p.toRedis, p.Name + " to Redis"
}

// kill kills a program and starts it again after a moment.
func kill(choose chooser) injection {
	return func(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
		p := choose(s, r)
		defer p.Unlock()
		p.process.Kill()
		report("%s", p.Name)
		proc.Sleep(ctx, between(r, 200*time.Millisecond, 2*time.Second))
		return p.start()
	}
}

// freeze suspends a program for longer than any timeout.
func freeze(choose chooser) injection {
	return func(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
		p := choose(s, r)
		defer p.Unlock()
		p.process.Freeze()
		defer p.process.Thaw()
		report("%s for %s", p.Name, frozen)
		proc.Sleep(ctx, frozen)
		return nil
	}
}

// restartAll restarts the programs one after the other, as a deployment does.
func restartAll(ctx context.Context, s *system, _ *rand.Rand, report reporter) error {
	report("one program after the other")
	for _, p := range s.programs {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := restart(ctx, lock(p)); err != nil {
			return err
		}
	}
	return nil
}

func restart(ctx context.Context, p *program) error {
	defer p.Unlock()
	// A program that was started a moment ago does not handle SIGTERM yet.
	if err := proc.AwaitReady(ctx, p.process, 10*time.Second, p.live); err != nil {
		return err
	}
	if !p.process.Stop() || p.process.Err() != nil {
		err := cmp.Or(p.process.Err(), errors.New("it took too long"))
		return fmt.Errorf("%s was told to stop and did not end as it should: %w", p.Name, err)
	}
	if err := p.start(); err != nil {
		return err
	}
	// A service that it needs may be away just now. It comes back.
	patient, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_ = proc.AwaitReady(patient, p.process, time.Minute, p.ready)
	return nil
}

func cutConnection(_ context.Context, s *system, r *rand.Rand, report reporter) error {
	p, proxy, name := s.randomConnection(r)
	defer p.Unlock()
	report("%s", name)
	proxy.Cut()
	return nil
}

// connectionFault is a fault of a connection that lasts for a while.
func connectionFault(f faultproxy.Fault) injection {
	return func(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
		p, proxy, name := s.randomConnection(r)
		defer p.Unlock()
		d := between(r, time.Second, 6*time.Second)
		proxy.Set(f)
		report("%s for %s", name, d.Round(10*time.Millisecond))
		proc.Sleep(ctx, d)
		proxy.Set(faultproxy.None)
		proxy.Cut() // exchanges that went on meanwhile are incomplete
		return nil
	}
}

// exchangeFault is a fault that hits the next request or reply on a connection, if
// there is one. It comes three times.
func exchangeFault(f faultproxy.Fault) injection {
	return func(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
		p, proxy, name := s.randomConnection(r)
		defer p.Unlock()
		defer proxy.Set(faultproxy.None)
		report("%s, thrice", name)
		for range 3 {
			proxy.Set(f)
			proc.Sleep(ctx, between(r, 100*time.Millisecond, time.Second))
		}
		return nil
	}
}

func delayConnection(ctx context.Context, s *system, r *rand.Rand, report reporter) error {
	p, proxy, name := s.randomConnection(r)
	defer p.Unlock()
	delay, d := between(r, 20*time.Millisecond, 500*time.Millisecond), between(r, time.Second, 5*time.Second)
	proxy.Delay(delay)
	defer proxy.Delay(0)
	report("%s by %s for %s", name, delay.Round(time.Millisecond), d.Round(10*time.Millisecond))
	proc.Sleep(ctx, d)
	return nil
}
