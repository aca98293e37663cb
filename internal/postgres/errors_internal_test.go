package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lastseat/lastseat/internal/enroll"
)

// TestCommitFailure: what may have been committed is never called refused.
func TestCommitFailure(t *testing.T) {
	t.Parallel()
	server := func(severity, code string) error {
		return &pgconn.PgError{Severity: severity, SeverityUnlocalized: severity, Code: code}
	}
	for name, test := range map[string]struct {
		err    error
		want   enroll.Code
		locked bool // the lines
	}{
		"a connection that broke":              {errors.New("unexpected EOF"), enroll.OutcomeUnknown, true},
		"an operator ended the session":        {server("FATAL", "57P01"), enroll.OutcomeUnknown, true},
		"a pooler lost the server":             {server("FATAL", "08P01"), enroll.OutcomeUnknown, true},
		"the server has a defect":              {server("FATAL", "XX000"), enroll.OutcomeUnknown, true},
		"an answer without a code":             {server("FATAL", ""), enroll.OutcomeUnknown, true},
		"completion unknown":                   {server("ERROR", "40003"), enroll.OutcomeUnknown, true},
		"an error without a code":              {server("ERROR", ""), enroll.Unavailable, true},
		"the statement took too long":          {server("ERROR", "57014"), enroll.Unavailable, true},
		"the lines were not locked in time":    {server("ERROR", "57014"), enroll.LineBlocked, false},
		"a deadlock":                           {server("ERROR", "40P01"), enroll.Unavailable, true},
		"the disk is full":                     {server("ERROR", "53100"), enroll.Unavailable, true},
		"a standby":                            {server("ERROR", "25006"), enroll.Unavailable, true},
		"a run that was created meanwhile":     {server("ERROR", "23505"), enroll.Unavailable, true},
		"a lock that somebody holds":           {server("ERROR", "55P03"), enroll.LineBlocked, false},
		"a text that cannot be stored":         {server("ERROR", "22021"), enroll.Internal, true},
		"a request that breaks a constraint":   {server("ERROR", "23514"), enroll.Internal, true},
		"a schema that is not there (no data)": {server("ERROR", "42P01"), enroll.Unavailable, true},
	} {
		if got := enroll.CodeOf(commitFailure("accepting", test.err, test.locked)); got != test.want {
			t.Errorf("%s: code %q, want %q", name, got, test.want)
		}
	}
}
