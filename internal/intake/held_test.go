package intake_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/intake"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// TestALineIsHeld by somebody's session for longer than the lock timeout, while
// several APIs have 20 requests a second each for it. However many wait in a row
// for the line, each hears that it is blocked, and none that its outcome is
// unknown.
func TestALineIsHeld(t *testing.T) {
	t.Parallel()
	for _, apis := range []int{2, 4} {
		t.Run(fmt.Sprintf("with %d APIs", apis), func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			id := enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
			o := pgtest.Options
			o.LockTimeout = 4 * time.Second // twice that is more than half of the commit timeout
			var intakes []*intake.Intake
			for range apis {
				in, _, _ := startOn(t, pgtest.OpenWith(t, url, o), func(o *intake.Options) { o.CommitTimeout = 12 * time.Second })
				intakes = append(intakes, in)
			}
			release := pgtest.Hold(t, url, `SELECT FROM lines WHERE run_id = $1 FOR UPDATE`, id)

			var wg sync.WaitGroup
			var mu sync.Mutex
			answers := make(map[enroll.Code]int)
			ticker := time.NewTicker(time.Second / 20)
			defer ticker.Stop()
			const each = 100
			for n := range each {
				<-ticker.C
				for i, in := range intakes {
					wg.Go(func() {
						_, err := in.Accept(context.Background(), enrolltest.Person("a", n*apis+i))
						mu.Lock()
						defer mu.Unlock()
						answers[enroll.CodeOf(err)]++
					})
				}
			}
			wg.Wait()
			if answers[enroll.LineBlocked] != each*apis {
				t.Errorf("the answers are %v, want line_blocked alone", answers)
			}
			release()
			if _, err := intakes[0].Accept(context.Background(), enrolltest.Person("a", 0)); err != nil {
				t.Error(err)
			}
			if n := pgtest.Query[int64](t, url, `SELECT count(*) FROM requests`)[0]; n != 1 {
				t.Errorf("%d requests are in the line, want 1", n)
			}
		})
	}
}
