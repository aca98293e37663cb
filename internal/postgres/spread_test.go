package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// BenchmarkSettleSpread settles 400 requests in one transaction, spread over so
// many runs: all of them get a seat.
func BenchmarkSettleSpread(b *testing.B) {
	for _, runs := range []int{1, 10, 100, 400} {
		b.Run(fmt.Sprintf("%d_runs", runs), func(b *testing.B) {
			const requests = 400
			s := pgtest.Store(b)
			ids := make([]enroll.RunID, runs)
			for i := range ids {
				ids[i] = enrolltest.OpenRun(b, s, fmt.Sprintf("run-%d", i), nil)
			}
			var accepting, settling time.Duration
			for round := 0; b.Loop(); round++ {
				var all []enroll.Submission
				for i := range requests {
					all = append(all, enrolltest.Person(fmt.Sprintf("run-%d", i%runs), round*requests+i))
				}
				began := time.Now()
				if _, err := s.Accept(context.Background(), all); err != nil {
					b.Fatal(err)
				}
				accepting += time.Since(began)
				began = time.Now()
				if _, err := s.Settle(context.Background(), ids, enrolltest.SettleLimits(requests)); err != nil {
					b.Fatal(err)
				}
				settling += time.Since(began)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(accepting.Microseconds())/float64(b.N*requests), "accept-µs/request")
			b.ReportMetric(float64(settling.Microseconds())/float64(b.N*requests), "settle-µs/request")
		})
	}
}
