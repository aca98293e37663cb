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
		err  error
		want enroll.Code
	}{
		"a connection that broke":              {errors.New("unexpected EOF"), enroll.OutcomeUnknown},
		"an operator ended the session":        {server("FATAL", "57P01"), enroll.OutcomeUnknown},
		"a pooler lost the server":             {server("FATAL", "08P01"), enroll.OutcomeUnknown},
		"the server has a defect":              {server("FATAL", "XX000"), enroll.OutcomeUnknown},
		"an answer without a code":             {server("FATAL", ""), enroll.OutcomeUnknown},
		"completion unknown":                   {server("ERROR", "40003"), enroll.OutcomeUnknown},
		"an error without a code":              {server("ERROR", ""), enroll.Unavailable},
		"the statement took too long":          {server("ERROR", "57014"), enroll.Unavailable},
		"a deadlock":                           {server("ERROR", "40P01"), enroll.Unavailable},
		"the disk is full":                     {server("ERROR", "53100"), enroll.Unavailable},
		"a standby":                            {server("ERROR", "25006"), enroll.Unavailable},
		"a run that was created meanwhile":     {server("ERROR", "23505"), enroll.Unavailable},
		"a lock that somebody holds":           {server("ERROR", "55P03"), enroll.LineBlocked},
		"a text that cannot be stored":         {server("ERROR", "22021"), enroll.Internal},
		"a request that breaks a constraint":   {server("ERROR", "23514"), enroll.Internal},
		"a schema that is not there (no data)": {server("ERROR", "42P01"), enroll.Unavailable},
	} {
		if got := enroll.CodeOf(commitFailure("accepting", test.err)); got != test.want {
			t.Errorf("%s: code %q, want %q", name, got, test.want)
		}
	}
}
