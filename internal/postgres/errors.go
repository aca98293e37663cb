package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lastseat/lastseat/internal/enroll"
)

// translate gives an error of the database its code: Conflict for a broken
// uniqueness, Unavailable for a database that cannot be reached, does not let us
// in or does not take work now, Invalid for a value that a trigger refused,
// Internal for the rest. A context's own end stays visible to errors.Is. An error that has a code keeps it, as one has with which
// a transaction's function ended it.
func translate(doing string, err error) error {
	if _, has := errors.AsType[*enroll.Error](err); has {
		return err
	}
	code := enroll.Internal
	pg, isPg := errors.AsType[*pgconn.PgError](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case connecting:
		code = enroll.Unavailable
	case isPg && pg.Code == "23505": // unique_violation
		code = enroll.Conflict
	case isPg && pg.ConstraintName == "last_admin": // a trigger: see migration 20
		return enroll.Errorf(enroll.LastAdmin, "this would leave the installation without an admin whose account is not disabled")
	case isPg && pg.Code == "23514" && pg.ColumnName != "": // check_violation, by a trigger of ours: see migration 9
		return enroll.FaultIn(pg.ColumnName, enroll.Invalid, "form", pg.Message)
	case isPg && passing(pg.Code), !isPg:
		code = enroll.Unavailable
	}
	return &enroll.Error{Code: code, Err: fmt.Errorf("%s: %w", doing, err)}
}

// passing tells whether an SQLSTATE says that the same statement may succeed
// later, or in a program of another version: the connection, resources, the
// schema, an operator or another transaction stood in its way, not its content.
func passing(sqlstate string) bool {
	switch sqlstate {
	case "0A000", // feature_not_supported: a migration has changed what a prepared statement returns, and it is prepared anew
		"25006", // read_only_sql_transaction: a standby, or a failover under way
		"23502", // not_null_violation: of a column that this program does not know; requests fill all others
		"25P03", // idle_in_transaction_session_timeout
		"26000", // invalid_sql_statement_name: a pooler has lost a prepared statement, and it is prepared anew
		"55P03", // lock_not_available
		"55006": // object_in_use
		return true
	}
	for _, class := range []string{
		"08", // connection exception
		"3D", // invalid catalog name: the database is not there
		"3F", // invalid schema name
		"40", // transaction rollback: deadlock, serialization
		"42", // no such table, column or function, or no right to it: statements are constant, so the schema is not theirs
		"53", // insufficient resources
		"57", // operator intervention: shutdown, statement timeout
		"58", // system error
	} {
		if strings.HasPrefix(sqlstate, class) {
			return true
		}
	}
	return false
}

// commitFailure gives an error that came out of an accepting batch its code, by
// whether the lines were locked before:
//
//   - OutcomeUnknown when the commit may have happened: the bytes were sent and
//     no answer came, or one that ended the session, which can follow a commit
//     that was already done (a pooler says so, too, when it loses the server);
//   - Internal when something in the batch cannot be stored;
//   - LineBlocked when another session holds one of the lines for too long;
//   - Unavailable for everything else: the server rolled back.
func commitFailure(doing string, err error, locked bool) error {
	code := enroll.Unavailable
	pg, isPg := errors.AsType[*pgconn.PgError](err)
	switch {
	case !isPg && !pgconn.SafeToRetry(err), isPg && endsSession(pg):
		code = enroll.OutcomeUnknown
	case isPg && pg.Code == "55P03", // lock_not_available
		isPg && pg.Code == "57014" && !locked: // query_canceled: lockLines does nothing but wait
		code = enroll.LineBlocked
	case isPg && pg.Code == "23505":
		// unique_violation: the run was created between the two statements, and
		// its line not locked. Rare, and gone at the next try.
	case isPg && !passing(pg.Code) && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23")):
		code = enroll.Internal // data exception, integrity constraint violation
	}
	return &enroll.Error{Code: code, Err: fmt.Errorf("%s: %w", doing, err)}
}

// endsSession tells whether no further answer follows, or whether the answer
// itself says that the outcome is not known.
func endsSession(pg *pgconn.PgError) bool {
	severity := pg.SeverityUnlocalized
	if severity == "" {
		severity = pg.Severity
	}
	return severity == "FATAL" || severity == "PANIC" || pg.Code == "40003" || pg.Code == "08007"
}

// notFound returns the error for a noun that is not there.
func notFound(noun string) error {
	return enroll.Errorf(enroll.NotFound, "there is no such %s", noun)
}
