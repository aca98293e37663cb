package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// errVersionChanged says that a change was made from an older version.
var errVersionChanged = enroll.Errorf(enroll.VersionChanged, "another change came first: look at the current settings, and send the change with their ETag")

// AddCourse adds a course for the caller. The error has code Conflict if the slug
// is taken and Invalid if it can be none.
func (s *Store) AddCourse(ctx context.Context, by access.Caller, c enroll.Course) (enroll.Course, error) {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			INSERT INTO courses (slug, title, description, organiser, reply_to) VALUES ($1, $2, $3, $4, $5) RETURNING version`,
			c.Slug, c.Title, c.Description, c.Organiser, c.ReplyTo).Scan(&c.Version)
		if err != nil {
			return err
		}
		return audit(ctx, tx, by, access.Entry{Action: access.CourseAdded, Course: c.Slug})
	})
	return c, slugTaken(err, "adding a course")
}

// slugTaken translates the error of an INSERT of a course or a run.
func slugTaken(err error, doing string) error {
	if err == nil {
		return nil
	}
	if err = translate(doing, err); enroll.CodeOf(err) == enroll.Conflict {
		return enroll.Errorf(enroll.Conflict, "this slug is taken")
	}
	return err
}

// ChangeCourse gives a course the settings, if it has the version still. The error
// has code NotFound if there is no such course, and VersionChanged if another
// change came first.
func (s *Store) ChangeCourse(ctx context.Context, by access.Caller, slug string, version int64, to enroll.CourseSettings) (enroll.Course, error) {
	c := enroll.Course{Slug: slug, Title: to.Title, Description: to.Description, Organiser: to.Organiser, ReplyTo: to.ReplyTo}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT slug, title, description, organiser, reply_to, version FROM courses WHERE slug = $1 FOR NO KEY UPDATE`, slug)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, scanCourse)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return notFound("course")
		case found[0].Version != version:
			return errVersionChanged
		}
		err = tx.QueryRow(ctx, `UPDATE courses SET title = $2, description = $3, organiser = $4, reply_to = $5 WHERE slug = $1 RETURNING version`,
			slug, to.Title, to.Description, to.Organiser, to.ReplyTo).Scan(&c.Version)
		if err != nil {
			return err
		}
		before := enroll.CourseSettings{Title: found[0].Title, Description: found[0].Description, Organiser: found[0].Organiser, ReplyTo: found[0].ReplyTo}
		entry := access.Entry{Action: access.CourseChanged, Course: slug, Details: map[string]any{"fields": before.Changes(to)}}
		return audit(ctx, tx, by, entry)
	})
	if err != nil {
		return enroll.Course{}, translate("changing a course", err)
	}
	return c, nil
}

// AddRun adds a draft for the caller. The error has code Conflict if the slug is
// taken, Invalid if it can be none, and NotFound if there is no such course.
func (s *Store) AddRun(ctx context.Context, by access.Caller, r enroll.Run) (enroll.RunState, error) {
	r.State = enroll.Draft
	var added enroll.RunState
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, insertRun, insertRunArgs(r)...)
		if err != nil {
			return err
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[enroll.RunID])
		switch {
		case err != nil:
			return err
		case len(ids) == 0:
			return notFound("course")
		}
		if err := audit(ctx, tx, by, access.Entry{Action: access.RunAdded, Run: r.Slug}); err != nil {
			return err
		}
		added, err = runIn(ctx, tx, r.Slug)
		return err
	})
	return added, slugTaken(err, "adding a run")
}

// runIn reads a run in a transaction.
func runIn(ctx context.Context, tx pgx.Tx, slug string) (enroll.RunState, error) {
	rows, err := tx.Query(ctx, selectRuns+`WHERE r.slug = $1`, slug)
	if err != nil {
		return enroll.RunState{}, err
	}
	found, err := pgx.CollectRows(rows, scanRun)
	if err == nil && len(found) == 0 {
		err = notFound("run")
	}
	if err != nil {
		return enroll.RunState{}, err
	}
	return found[0], nil
}

// changeRun changes a run that exists, records it and returns the run. It holds
// the head of the run's line, so the change has a place between two tickets, which
// the entry names: requests up to that ticket were judged by what was so before.
func (s *Store) changeRun(ctx context.Context, doing string, by access.Caller, slug string, entry access.Entry, change func(tx pgx.Tx, r enroll.RunState) (map[string]any, error)) (r enroll.RunState, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		for _, lock := range []string{
			`SELECT FROM lines WHERE run_id = (SELECT id FROM runs WHERE slug = $1) FOR NO KEY UPDATE`,
			`SELECT FROM runs WHERE slug = $1 FOR NO KEY UPDATE`,
		} {
			if _, err := tx.Exec(ctx, lock, slug); err != nil {
				return err
			}
		}
		if r, err = runIn(ctx, tx, slug); err != nil {
			return err
		}
		entry.Run = slug
		if entry.Details, err = change(tx, r); err != nil {
			return err
		}
		if entry.Details == nil {
			entry.Details = make(map[string]any)
		}
		entry.Details["after_ticket"] = r.LastTicket
		if err := audit(ctx, tx, by, entry); err != nil {
			return err
		}
		r, err = runIn(ctx, tx, slug)
		return err
	})
	if err != nil {
		return enroll.RunState{}, translate(doing, err)
	}
	return r, nil
}

// ChangeRun gives a run the settings, if it has the version still. The error has
// code NotFound if there is no such run, VersionChanged if another change came
// first, and WrongState if the run is archived.
func (s *Store) ChangeRun(ctx context.Context, by access.Caller, slug string, version int64, to enroll.RunSettings) (enroll.RunState, error) {
	return s.changeRun(ctx, "changing a run", by, slug, access.Entry{Action: access.RunChanged}, func(tx pgx.Tx, r enroll.RunState) (map[string]any, error) {
		if r.Version != version {
			return nil, errVersionChanged
		}
		if err := r.MayChange(); err != nil {
			return nil, err
		}
		_, err := tx.Exec(ctx, `
			UPDATE runs SET location = $2, time_zone = $3, language = $4, starts_at = $5, ends_at = $6, opens_at = $7, closes_at = $8, promote_until = $9
			WHERE slug = $1`, slug, to.Location, to.TimeZone, to.Language, to.StartsAt, to.EndsAt, to.OpensAt, to.ClosesAt, unlessZero(to.PromoteUntil))
		return map[string]any{"fields": r.Settings().Changes(to)}, err
	})
}

// PublishRun publishes a draft. The error has code NotFound if there is no such
// run, WrongState if it is no draft, and Invalid if it is not complete.
func (s *Store) PublishRun(ctx context.Context, by access.Caller, slug string) (enroll.RunState, error) {
	return s.moveRun(ctx, by, slug, access.RunPublished, enroll.Published, enroll.RunState.MayPublish)
}

// ArchiveRun archives a run that is over or called off. The error has code
// NotFound if there is no such run, and else WrongState.
func (s *Store) ArchiveRun(ctx context.Context, by access.Caller, slug string) (enroll.RunState, error) {
	return s.moveRun(ctx, by, slug, access.RunArchived, enroll.Archived, enroll.RunState.MayArchive)
}

func (s *Store) moveRun(ctx context.Context, by access.Caller, slug string, action access.Action, to enroll.State, may func(enroll.RunState) error) (enroll.RunState, error) {
	return s.changeRun(ctx, "moving a run to another state", by, slug, access.Entry{Action: action}, func(tx pgx.Tx, r enroll.RunState) (map[string]any, error) {
		if err := may(r); err != nil {
			return nil, err
		}
		_, err := tx.Exec(ctx, `UPDATE runs SET state = $2 WHERE slug = $1`, slug, to)
		return nil, err
	})
}

// DeleteRun deletes a draft without requests in its line. The error has code
// NotFound if there is no such run, and else WrongState.
func (s *Store) DeleteRun(ctx context.Context, by access.Caller, slug string) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM lines WHERE run_id = (SELECT id FROM runs WHERE slug = $1) FOR UPDATE`, slug); err != nil {
			return err
		}
		r, err := runIn(ctx, tx, slug)
		if err != nil {
			return err
		}
		if err := r.MayDelete(); err != nil {
			return err
		}
		entry := access.Entry{Action: access.RunDeleted, Course: r.Course, Details: map[string]any{"slug": slug}}
		if err := audit(ctx, tx, by, entry); err != nil {
			return err
		}
		for _, statement := range []string{`DELETE FROM lines WHERE run_id = $1`, `DELETE FROM runs WHERE id = $1`} {
			if _, err := tx.Exec(ctx, statement, r.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return translate("deleting a run", err)
	}
	return nil
}
