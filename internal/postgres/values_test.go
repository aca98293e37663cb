package postgres_test

import (
	"archive/zip"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/net/idna"

	"github.com/lastseat/lastseat/internal/doctor"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/postgres"
)

// badValues are values that an older schema took, by column, and what the doctor
// calls them.
var badValues = map[string]struct {
	code   doctor.Code
	values []string
}{
	"runs.time_zone": {doctor.TimeZone, []string{
		"Europe/Berln", "europe/berlin", "utc", "UTC+1", "CEST", "EST5EDT4,M3.2.0,M11.1.0", "+01", "Europe/Berlin ", "Europe/Berlin\n", "Local",
		"posix/Europe/Berlin", "right/Europe/Berlin", "localtime", "posixrules", "Factory",
	}},
	"courses.reply_to": {doctor.ReplyTo, []string{
		"Ada <a@x.example>", "<a@x.example>", "nobody", "a@b@c.example", "a@x", "a@x.example, b@x.example", "a@-x.example", "a@x..example", ".a@x.example",
		"a.@x.example", "a..b@x.example", "a@x.example\r\nBcc: b@x.example", "mailto:a@x.example", `"a"@x.example`, "a@[127.0.0.1]", "a@127.0.0.1",
		"ä@x.example", " ", "a@ü", "a@ü..example", "a@-ü.example", "a@ü.123", "a@exämple.example/x", "a@xn--a.example", "a@xn--abc-.example",
		"a@xn--.example", "a@xn---.example", "a@xn--mller-kva.123", "a@ab--c.example", "a@xn--zzzzzzzzzzzz.example", "a@xn--mller-kva.xn--99999999", "a@a_b.example",
		strings.Repeat("a", 60) + "@" + strings.Repeat("b.", 99) + "example", strings.Repeat("a", 65) + "@x.example", "a@" + strings.Repeat("b", 64) + ".example", "a@x.example.", "a@ä b.example",
	}},
	"courses.title":       {doctor.Text, []string{"a\nb", "a\r\nb", "a\tb", "a\x1bb", "a\u0085b", "a\u2028b", "a\u202eb", "a\u2066b", "  ", "\u00a0", "\u200b", "\u2800", "\u3164", "\ufeff", "\u0301"}},
	"courses.organiser":   {doctor.Text, []string{"a\nb", "a\rb", "a\x7fb", " ", "\u2800"}},
	"courses.description": {doctor.Text, []string{"a\x1bb", "a\u202eb", "\n\u200b"}},
	"runs.location":       {doctor.Text, []string{"a\nb", "a\x0bb", "a\u2029b", " ", "\u00a0", "\u200b", "\u2800", "\u3164", "\ufeff"}},
}

var goodValues = map[string][]string{
	"runs.time_zone": {"Europe/Berlin", "UTC", "Asia/Kolkata", "Etc/GMT+5", "US/Pacific"},
	"courses.reply_to": {
		"", "a@x.example", "Ada.Lovelace+go@Example.ORG", "o'neil@x.example", "!#$%&'*+-/=?^_`{|}~@xn--mller-kva.example", "a@XN--Mller-KVA.example", "a@xn--strae-oqa.example",
		"a@xn--e1afmkfd.xn--p1ai", "a@b.c", "a@a--b.example", "a@1.2.example", "a@" + strings.Repeat("b", 63) + ".example", strings.Repeat("a", 64) + "@x.example",
	},
	"courses.title":       {"x", "Søn & Co. <b>", "👩‍👩‍👧‍👦", "דָּוִד", "a  b", "=1+1", "தமிழ்", "日本", "🦉", "ÿ"},
	"courses.organiser":   {"", "Go School"},
	"courses.description": {"", "a\nb\r\n\tc"},
	"runs.location":       {"", "Room 5, Main Street 1"},
}

// eachValue runs a test for each value and its column.
func eachValue(values map[string][]string, test func(table, column, value string)) {
	for name, all := range values {
		table, column, _ := strings.Cut(name, ".")
		for _, value := range all {
			test(table, column, value)
		}
	}
}

// TestTriggersRefuseValues: at writing, with the name of the column and the rule.
func TestTriggersRefuseValues(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pgtest.Open(t, url)
	enrolltest.OpenRun(t, s, "a", nil)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	write := func(table, column, value string) (updating, inserting error) {
		_, updating = conn.Exec(t.Context(), `UPDATE `+table+` SET `+column+` = $1`, value)
		row := `INSERT INTO runs (course_id, slug, starts_at, ends_at, opens_at, closes_at, ` + column + `)
			SELECT course_id, 'b', starts_at, ends_at, opens_at, closes_at, $1 FROM runs WHERE slug = 'a'`
		switch {
		case table == "runs" && column != "time_zone":
			row = strings.NewReplacer(column+")", column+", time_zone)", "$1 FROM", "$1, 'UTC' FROM").Replace(row)
		case column == "title":
			row = `INSERT INTO courses (slug, title) VALUES ('b', $1)`
		case table == "courses":
			row = `INSERT INTO courses (slug, title, ` + column + `) VALUES ('b', 'B', $1)`
		}
		_, inserting = conn.Exec(t.Context(), row, value)
		for _, remove := range []string{
			`DELETE FROM lines WHERE run_id = (SELECT id FROM runs WHERE slug = 'b')`, // which a trigger added
			`DELETE FROM ` + table + ` WHERE slug = 'b'`,
		} {
			if _, err := conn.Exec(t.Context(), remove); err != nil {
				t.Fatal(err)
			}
		}
		return updating, inserting
	}
	bad := make(map[string][]string)
	for name, b := range badValues {
		bad[name] = b.values
	}
	eachValue(bad, func(table, column, value string) {
		updating, inserting := write(table, column, value)
		for _, err := range []error{updating, inserting} {
			if pg, is := errors.AsType[*pgconn.PgError](err); !is || pg.Code != "23514" || pg.ColumnName != column || !strings.HasPrefix(pg.Message, "must ") {
				t.Errorf("%s.%s = %q: got %v", table, column, value, err)
			}
		}
	})
	eachValue(goodValues, func(table, column, value string) {
		updating, inserting := write(table, column, value)
		if updating != nil || inserting != nil {
			t.Errorf("%s.%s = %q: got %v, %v", table, column, value, updating, inserting)
		}
	})

	t.Run("as what was sent, to a program", func(t *testing.T) {
		err := s.CreateCourse(t.Context(), enroll.Course{Slug: "c", Title: "C", ReplyTo: "Ada <a@x.example>"})
		if e, is := errors.AsType[*enroll.Error](err); !is || e.Code != enroll.Invalid || e.Faults[0].Field != "reply_to" {
			t.Errorf("got %v", err)
		}
	})
}

// TestTriggersAgreeWithTheDomain: what the database takes can be said in a mail,
// and what the domain takes the database does.
func TestTriggersAgreeWithTheDomain(t *testing.T) {
	t.Parallel()
	t.Run("on zones", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		enrolltest.OpenRun(t, pgtest.Open(t, url), "a", nil)
		tables, err := zip.OpenReader(filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip")) //nolint:staticcheck // the tests run where they are built
		if err != nil {
			t.Fatal(err)
		}
		defer tables.Close()
		var inGo []string
		for _, f := range tables.File {
			inGo = append(inGo, f.Name)
		}
		taken := pgtest.Query[string](t, url, `SELECT name FROM pg_timezone_names WHERE name !~ '^(posix/|right/|localtime$|posixrules$|Factory$)'`)
		if len(taken) < 300 {
			t.Fatalf("the server knows %d zones", len(taken))
		}
		for _, name := range taken {
			if _, err := enroll.ParseTimeZone(name); err != nil || !slices.Contains(inGo, name) {
				t.Errorf("the database takes %q, and Go's tables lack it: %v", name, err)
			}
		}
	})
	t.Run("on values", func(t *testing.T) {
		t.Parallel()
		for name, b := range badValues {
			for _, value := range b.values {
				if parse(name, value) == nil {
					t.Errorf("the domain takes %s = %q", name, value)
				}
			}
		}
		for name, values := range goodValues {
			for _, value := range values {
				if err := parse(name, value); err != nil {
					t.Errorf("the domain refuses %s = %q: %v", name, value, err)
				}
			}
		}
	})
}

// TestTriggersRefuseMoreThanTheDomain, which knows what a domain beyond ASCII may
// be, and which of the newest characters can be seen.
func TestTriggersRefuseMoreThanTheDomain(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	t.Run("domains beyond ASCII", func(t *testing.T) {
		t.Parallel()
		for _, value := range []string{"a@müller.example", "a@☕.example", "a@example。org", "a@אב.קום", "a@क्\u200dष.example", "a@xn--53h.example"} {
			if parse("courses.reply_to", value) != nil || pgtest.Query[bool](t, url, `SELECT is_address($1)`, value)[0] {
				t.Errorf("%q is not refused by the database alone", value)
			}
		}
	})
	t.Run("which the doctor finds", func(t *testing.T) {
		t.Parallel()
		url := pgtest.URL(t)
		s := pgtest.Open(t, url)
		enrolltest.OpenRun(t, s, "a", nil)
		pgtest.Exec(t, url, `ALTER TABLE courses DISABLE TRIGGER courses_check_values`) // as before migration 17
		pgtest.Exec(t, url, `UPDATE courses SET reply_to = 'a@müller.example'`)
		if found, err := s.CheckUp(t.Context(), "a"); err != nil || len(found) != 1 || found[0].Code != doctor.ReplyTo {
			t.Errorf("got %v, %v", found, err)
		}
	})
	t.Run("each A-label of one character", func(t *testing.T) {
		t.Parallel()
		var labels []string
		for r := rune(0x80); r < 0x20000; r++ {
			if utf8.ValidRune(r) {
				if label, err := idna.Punycode.ToASCII(string(r)); err == nil {
					labels = append(labels, "a@"+label+".example")
				}
			}
		}
		taken := pgtest.Query[string](t, url, `SELECT a FROM unnest($1::text[]) a WHERE is_address(a)`, labels)
		if len(taken) < 1000 {
			t.Errorf("only %d of %d are taken", len(taken), len(labels))
		}
		for _, value := range taken {
			if err := parse("courses.reply_to", value); err != nil {
				t.Errorf("%s is taken: %v", value, err)
			}
		}
	})
	t.Run("each character", func(t *testing.T) {
		t.Parallel()
		seen := pgtest.Query[int32](t, url, `
			SELECT n FROM generate_series(1, 1114111) n WHERE n NOT BETWEEN 55296 AND 57343 AND is_visible(chr(n))`)
		if len(seen) < 100_000 {
			t.Errorf("only %d are visible", len(seen))
		}
		for _, r := range seen {
			if err := parse("courses.title", string(r)); err != nil {
				t.Errorf("%U is visible: %v", r, err)
			}
		}
	})
}

func parse(name, value string) (err error) {
	_, column, _ := strings.Cut(name, ".")
	switch column {
	case "time_zone":
		_, err = enroll.ParseTimeZone(value)
	case "reply_to":
		if value != "" {
			_, err = enroll.ParseAddress(value)
		}
	case "description":
		err = enroll.CheckLines(column, value)
	default:
		err = enroll.CheckLine(column, value)
	}
	return err
}

// TestOldValuesDoNotStopALine: a database of an older schema with a run for each
// bad value is migrated; then everything happens in these runs.
func TestOldValuesDoNotStopALine(t *testing.T) {
	t.Parallel()
	url := pgtest.EmptyURL(t)
	if err := postgres.MigrateTo(t.Context(), url, 5); err != nil {
		t.Fatal(err)
	}
	var slugs []string
	codes := make(map[string]doctor.Code)
	for name, b := range badValues {
		table, column, _ := strings.Cut(name, ".")
		slug := strings.ReplaceAll(column, "_", "-")
		slugs, codes[slug] = append(slugs, slug), b.code
		pgtest.Exec(t, url, `INSERT INTO courses (slug, title) VALUES ($1, 'Course')`, slug)
		pgtest.Exec(t, url, `
			INSERT INTO runs (course_id, slug, time_zone, starts_at, ends_at, opens_at, closes_at, capacity, waitlist_capacity)
			SELECT id, slug, 'UTC', now() + interval '1 day', now() + interval '2 days', now() - interval '1 day', now() + interval '1 hour', 1, 2
			FROM courses WHERE slug = $1`, slug)
		pgtest.Exec(t, url, `INSERT INTO lines (run_id) SELECT id FROM runs WHERE slug = $1`, slug)
		if column == "location" {
			column = "place" // its name up to migration 13
		}
		pgtest.Exec(t, url, `UPDATE `+table+` SET `+column+` = $2 WHERE slug = $1`, slug, b.values[0])
	}
	if _, err := postgres.Migrate(t.Context(), url, pgtest.Options); err != nil {
		t.Fatal(err)
	}

	s := pgtest.Open(t, url)
	for _, slug := range slugs {
		id := pgtest.Query[enroll.RunID](t, url, `SELECT id FROM runs WHERE slug = $1`, slug)[0]
		happen := func(submissions ...enroll.Submission) {
			t.Helper()
			accept(t, s, submissions...)
			settle(t, s, id)
		}
		happen(enrolltest.Person(slug, 1), enrolltest.Person(slug, 2))
		happen(enroll.NewCancel(slug, 1, false))
		happen(enroll.NewCallOff(slug))
		if got := pgtest.Query[string](t, url, `SELECT string_agg(status, ' ' ORDER BY ticket) FROM requests WHERE run_id = $1`, id); got[0] != "cancelled cancelled done done" {
			t.Errorf("in the run with a bad %s, got %s", slug, got)
		}
		found, err := s.CheckUp(t.Context(), slug)
		if err != nil || len(found) != 1 || found[0].Code != codes[slug] {
			t.Errorf("in the run with a bad %s, the doctor finds %v, %v", slug, found, err)
		}
		// What is corrected of it may leave the other as it is.
		pgtest.Exec(t, url, `UPDATE runs SET location = 'Room 6', time_zone = time_zone, starts_at = starts_at + interval '1 hour' WHERE slug = $1`, slug)
		pgtest.Exec(t, url, `UPDATE courses SET title = 'A course', organiser = organiser, reply_to = reply_to, description = description WHERE slug = $1`, slug)
	}
}
