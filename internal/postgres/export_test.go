package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
)

// MigrateTo brings the schema of an empty database to a version.
func MigrateTo(ctx context.Context, url string, version int64) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer db.Close()
	p, err := goose.NewProvider(goose.DialectPostgres, db, Migrations())
	if err != nil {
		return err
	}
	_, err = p.UpTo(ctx, version)
	return err
}

// Ask asks for rows as the store's methods do.
func (s *Store) Ask(ctx context.Context, sql string) error {
	_, err := collect(ctx, s, "asking", pgx.RowToMap, sql)
	return err
}

// SetForTransaction returns the statement by which a transaction gets the settings
// of the options.
func SetForTransaction(o Options) string { return setForTransaction(settings(o)) }

// HotStatements are those whose cost must depend on what they are for, and never
// on the size of a table.
var HotStatements = map[string]string{
	"lockLines": lockLines, "acceptRequests": acceptRequests,
	"lockRuns": lockRuns, "nextRequests": nextRequests, "firstPlaces": firstPlaces,
	"decide": decide, "change": change, "unseat": unseat, "unlist": unlist,
	"givePlaces":  givePlaces,
	"listsToEnd":  listsToEnd,
	"insertMails": insertMails, "tellFull": tellFull, "tellAgain": tellAgain,
	"relayed": relayed, "replaced": replaced,
	"lockMailbox": lockMailbox, "keepSeatTold": keepSeatTold, "noteTold": noteTold, "claimMail": claimMail, "joinSummary": joinSummary, "takeAlong": takeAlong, "readMail": readMail,
	"dueChange": dueChange, "writeChanges": writeChanges, "writeReminders": writeReminders,
}
