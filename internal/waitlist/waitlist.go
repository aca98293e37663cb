// Package waitlist ends the waiting lists whose time has come.
//
// It does so by requests in the line, like every other change. It must not know
// how they are settled.
package waitlist

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
)

// Ledger knows what is due, and takes requests.
type Ledger interface {
	// ListsToEnd returns the runs whose waiting list has to end now, without
	// those that cannot take requests at this instant.
	ListsToEnd(ctx context.Context) ([]string, error)
	// Accept gives requests their tickets.
	Accept(ctx context.Context, submissions []enroll.Submission) ([]enroll.AcceptResult, error)
}

// passTimeout bounds one pass over the lists.
const passTimeout = 5 * time.Second

// Run looks every interval, until ctx ends, and calls notify for what it put into
// a line. Any number of processes may do so: the end of a list is one request,
// however many ask for it.
func Run(ctx context.Context, ledger Ledger, interval time.Duration, notify func(enroll.Bundle), log *slog.Logger) error {
	trouble := outage.New(log, slog.LevelWarn, "waiting lists do not end when they should",
		"waiting lists end in time again")
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		switch err := EndDue(ctx, ledger, notify, log); {
		case err == nil:
			trouble.Recovered()
		case ctx.Err() == nil:
			trouble.Failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// EndDue asks for the end of each due list by itself, so that what is wrong with
// one run delays no other. It returns the first error, after trying all.
func EndDue(ctx context.Context, ledger Ledger, notify func(enroll.Bundle), log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	runs, err := ledger.ListsToEnd(ctx)
	if err != nil {
		return err
	}
	var first error
	for _, run := range runs {
		if ctx.Err() != nil {
			break // the others come next time
		}
		if err := end(ctx, ledger, run, notify, log); err != nil && first == nil {
			first = fmt.Errorf("run %s: %w", run, err)
		}
	}
	return first
}

func end(ctx context.Context, ledger Ledger, run string, notify func(enroll.Bundle), log *slog.Logger) error {
	results, err := ledger.Accept(ctx, []enroll.Submission{enroll.NewScheduledCloseWaitlist(run)})
	if err != nil {
		return err
	}
	r, err := results[0].Receipt, results[0].Err
	if err != nil || r.Again { // again: another worker was first, and it is in the line
		return err
	}
	crashpoint.Here(crashpoint.ListEndAccepted)
	log.Info("the waiting list ends: its time has come", "run", r.Run, "ticket", r.Ticket)
	notify(enroll.Bundle{RunID: r.RunID, Run: r.Run, First: r.Ticket, Last: r.Ticket})
	return nil
}
