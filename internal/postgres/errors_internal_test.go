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
		"a column that is not known here":      {server("ERROR", "23502"), enroll.Unavailable, true},
		"a column that is gone":                {server("ERROR", "42703"), enroll.Unavailable, true},
		"a request that breaks a constraint":   {server("ERROR", "23514"), enroll.Internal, true},
		"a schema that is not there (no data)": {server("ERROR", "42P01"), enroll.Unavailable, true},
	} {
		if got := enroll.CodeOf(commitFailure("accepting", test.err, test.locked)); got != test.want {
			t.Errorf("%s: code %q, want %q", name, got, test.want)
		}
	}
}

// TestTranslate: what a request cannot help is never its fault, nor a defect.
func TestTranslate(t *testing.T) {
	t.Parallel()
	for sqlstate, want := range map[string]enroll.Code{
		"42P01": enroll.Unavailable, // undefined_table
		"42703": enroll.Unavailable, // undefined_column
		"42883": enroll.Unavailable, // undefined_function
		"42704": enroll.Unavailable, // undefined_object
		"42702": enroll.Unavailable, // ambiguous_column: a new one has the name of another table's
		"42804": enroll.Unavailable, // datatype_mismatch
		"42P10": enroll.Unavailable, // invalid_column_reference: ON CONFLICT without its index
		"42501": enroll.Unavailable, // insufficient_privilege
		"428C9": enroll.Unavailable, // generated_always
		"0A000": enroll.Unavailable, // feature_not_supported: cached plan must not change result type
		"26000": enroll.Unavailable, // invalid_sql_statement_name
		"3D000": enroll.Unavailable, // invalid_catalog_name
		"3F000": enroll.Unavailable, // invalid_schema_name
		"23502": enroll.Unavailable, // not_null_violation
		"23505": enroll.Conflict,    // unique_violation
		"23514": enroll.Internal,    // check_violation
		"22021": enroll.Internal,    // character_not_in_repertoire
		"XX001": enroll.Internal,    // data_corrupted
	} {
		if got := enroll.CodeOf(translate("reading", &pgconn.PgError{Severity: "ERROR", Code: sqlstate})); got != want {
			t.Errorf("%s: %q, want %q", sqlstate, got, want)
		}
	}
}
