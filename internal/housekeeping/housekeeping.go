// Package housekeeping does what has to happen at a time, and not because
// somebody asks: so far, it ends the waiting lists whose time has come.
//
// It does so by requests in the line like everybody else. It must not know how
// they are settled.
package housekeeping

import (
	"context"
	"log/slog"
	"time"

	"github.com/lastseat/lastseat/internal/crashpoint"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/outage"
)

// Ledger knows what is due, and takes requests.
type Ledger interface {
	// ListsToEnd returns runs whose waiting list has to end now.
	ListsToEnd(ctx context.Context) ([]string, error)
	// Accept gives requests their tickets.
	Accept(ctx context.Context, applications []enroll.Application) ([]enroll.Verdict, error)
}

// turnTimeout bounds what one turn may cost.
const turnTimeout = 5 * time.Second

// Run looks every interval, until ctx ends, and calls ring for what it put into
// a line. Any number of processes may do so: the end of a list is one request,
// however many ask for it.
func Run(ctx context.Context, ledger Ledger, interval time.Duration, ring func(enroll.Bundle), log *slog.Logger) error {
	trouble := outage.New(log, slog.LevelWarn, "waiting lists do not end when they should",
		"waiting lists end in time again")
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		switch err := endLists(ctx, ledger, ring, log); {
		case err == nil:
			trouble.Worked()
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

func endLists(ctx context.Context, ledger Ledger, ring func(enroll.Bundle), log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, turnTimeout)
	defer cancel()
	runs, err := ledger.ListsToEnd(ctx)
	if err != nil || len(runs) == 0 {
		return err
	}
	applications := make([]enroll.Application, len(runs))
	for i, run := range runs {
		applications[i] = enroll.ApplyPromoteUntil(run)
	}
	verdicts, err := ledger.Accept(ctx, applications)
	if err != nil {
		return err
	}
	for _, v := range verdicts {
		if v.Err != nil || v.Receipt.Again { // somebody else was first: it is in the line
			continue
		}
		crashpoint.Here(crashpoint.ListEndAccepted)
		r := v.Receipt
		log.Info("the waiting list ends: its time has come", "run", r.Run, "ticket", r.Ticket)
		ring(enroll.Bundle{RunID: r.RunID, Run: r.Run, First: r.Ticket, Last: r.Ticket})
	}
	return nil
}
