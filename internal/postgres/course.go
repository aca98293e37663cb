package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/lastseat/lastseat/internal/enroll"
)

// Courses returns the courses that the query asks for, by title.
func (s *Store) Courses(ctx context.Context, q enroll.CourseQuery) ([]enroll.Course, error) {
	return collect(ctx, s, "reading courses", scanCourse, `
		SELECT slug, title, description, organiser, reply_to, version FROM courses
		WHERE (title, slug) > ($1, $2) ORDER BY title, slug LIMIT $3`, q.After.Title, q.After.Slug, q.Most)
}

// Course returns the course, or an error of code NotFound.
func (s *Store) Course(ctx context.Context, slug string) (enroll.Course, error) {
	found, err := collect(ctx, s, "reading a course", scanCourse,
		`SELECT slug, title, description, organiser, reply_to, version FROM courses WHERE slug = $1`, slug)
	if err == nil && len(found) == 0 {
		err = notFound("course")
	}
	if err != nil {
		return enroll.Course{}, err
	}
	return found[0], nil
}

func scanCourse(row pgx.CollectableRow) (c enroll.Course, err error) {
	err = row.Scan(&c.Slug, &c.Title, &c.Description, &c.Organiser, &c.ReplyTo, &c.Version)
	return c, err
}

// CreateCourse adds a course. The error has code Conflict if the slug is taken and
// Invalid if it can be none.
func (s *Store) CreateCourse(ctx context.Context, c enroll.Course) error {
	if _, err := enroll.ParseNewSlug(c.Slug); err != nil {
		return err
	}
	_, err := s.pool.Exec(ctx, `INSERT INTO courses (slug, title, description, organiser, reply_to) VALUES ($1, $2, $3, $4, $5)`,
		c.Slug, c.Title, c.Description, c.Organiser, c.ReplyTo)
	if err != nil {
		return translate("creating course "+c.Slug, err)
	}
	return nil
}
