package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/postgres"
)

// leastRetention is for how many days the audit is kept at least. The schema has
// the same number.
const leastRetention = 30

// parseAudit reads what follows `api audit`.
func parseAudit(args []string) (action, error) {
	if len(args) == 0 || args[0] != "prune" {
		return nil, errUsage
	}
	var days string
	do := func(ctx context.Context, s *postgres.Store, stdout io.Writer) error {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n < leastRetention {
			return enroll.FaultIn("days", enroll.Invalid, "range", fmt.Sprintf("must be a whole number of days, %d or more", leastRetention))
		}
		pruned, err := s.PruneAudit(ctx, int(n))
		fmt.Fprintf(stdout, "%d entries removed\n", pruned)
		return err
	}
	return do, parseVerb(args[1:], map[string]*string{"days": &days}, nil)
}
