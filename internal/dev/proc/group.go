package proc

import (
	"context"
	"sync"
)

// Group is the children that run together. When one of them ends unasked, the
// group's context is done, with an UnexpectedEnd as its cause.
type Group struct {
	log     *Console
	cancel  context.CancelCauseFunc
	watches sync.WaitGroup

	mu      sync.Mutex
	members []*Process
}

// NewGroup returns an empty group and its context.
func NewGroup(ctx context.Context, log *Console) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{log: log, cancel: cancel}, ctx
}

// Log returns the console that the group reports to.
func (g *Group) Log() *Console { return g.log }

// Add takes a running process into the group.
func (g *Group) Add(p *Process) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = append(g.members, p)
	g.watches.Go(func() {
		<-p.ended
		if !p.expected.Load() {
			g.cancel(&UnexpectedEnd{p.Name, p.err})
		}
	})
}

// PIDs returns the members' process ids by their names.
func (g *Group) PIDs() map[Part]int {
	g.mu.Lock()
	defer g.mu.Unlock()
	pids := make(map[Part]int, len(g.members))
	for _, p := range g.members {
		pids[Part(p.Name)] = p.PID
	}
	return pids
}

// Stop stops all members, the youngest first, and waits for them.
func (g *Group) Stop() {
	for i := len(g.members) - 1; i >= 0; i-- {
		p := g.members[i]
		select {
		case <-p.ended:
			continue
		default:
		}
		g.log.Printf("stopping %s", p.Name)
		if !p.Stop() {
			g.log.Printf("%s did not stop within %s and was killed", p.Name, p.Grace)
		}
	}
	g.watches.Wait()
	g.cancel(nil)
}
