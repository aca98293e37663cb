package intake_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/intake"
)

// failing is a ledger that accepts nothing.
type failing struct {
	intake.Ledger
	code enroll.Code
}

func (f failing) Accept(context.Context, []enroll.Submission) ([]enroll.AcceptResult, error) {
	return nil, enroll.Errorf(f.code, "it fails")
}

func (f failing) AcceptAgain(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error) {
	return f.Accept(ctx, submissions)
}

// TestFailuresNameOnlyRunsThatExist: a client may have put the id of a
// registration where the slug of a run belongs, and an id is a credential.
func TestFailuresNameOnlyRunsThatExist(t *testing.T) {
	t.Parallel()
	const run = "0134fa41-4057-4da8-b584-48264e11d0e3"
	for code, named := range map[enroll.Code]bool{enroll.LineBlocked: true, enroll.Unavailable: false, enroll.OutcomeUnknown: false, enroll.Internal: false} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer // read when the intake has ended
			o := intake.Options{Committers: 1, Waiting: 10, Batch: 10, CommitTimeout: 4 * time.Second}
			in := intake.New(failing{code: code}, o, func(enroll.Bundle) {}, slog.New(slog.NewTextHandler(&log, nil)), prometheus.NewRegistry())
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- in.Run(ctx) }()
			if _, err := in.Accept(t.Context(), enrolltest.Person(run, 1)); enroll.CodeOf(err) != code {
				t.Errorf("it is answered %v", err)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if strings.Contains(log.String(), run) != named || !strings.Contains(log.String(), string(code)) {
				t.Errorf("the log of a failure with code %s:\n%s", code, &log)
			}
		})
	}
}
