package postgres_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/pgtest"
)

// TestOrganisersWithoutPreparedStatements: what organisers need works behind a
// transaction pooler, too, where the driver does not learn the types of
// parameters.
func TestOrganisersWithoutPreparedStatements(t *testing.T) {
	t.Parallel()
	o := pgtest.Options
	o.Unprepared = true
	s := pgtest.OpenWith(t, pgtest.URL(t), o)
	ctx := t.Context()
	_, by := addAccount(t, s, "a@example.org", admin)
	by.Client = netip.MustParsePrefix("192.0.2.0/24")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	course, err := s.AddCourse(ctx, by, enroll.Course{Slug: "go", Title: "Go"})
	must(err)
	must(second(s.ChangeCourse(ctx, by, "go", course.Version, enroll.CourseSettings{Title: "Go!"})))
	now := time.Now()
	run, err := s.AddRun(ctx, by, enroll.Run{
		Slug: "go-1", Course: "go", TimeZone: "Europe/Berlin", Location: "Room 1", OpensAt: now, ClosesAt: now.Add(time.Hour), StartsAt: now.Add(time.Hour), EndsAt: now.Add(2 * time.Hour),
	})
	must(err)
	settings := run.Settings()
	settings.Location = "Room 2"
	must(second(s.ChangeRun(ctx, by, "go-1", run.Version, settings)))
	must(second(s.PublishRun(ctx, by, "go-1")))
	must(second(s.Runs(ctx, enroll.RunQuery{State: enroll.Published, Among: []string{"go"}, Most: 5})))
	target, _ := addAccount(t, s, "b@example.org", nil)
	must(second(s.Grant(ctx, by, target.ID, access.Grant{Role: access.Door, Course: "go"})))
	must(second(s.Revoke(ctx, by, target.ID, "go")))
	must(second(s.SetDisabled(ctx, by, target.ID, true)))
	token := newToken(t, by.Account)
	token.Courses = []string{"go"}
	token, err = s.AddToken(ctx, by, token, access.NewSecret())
	must(err)
	key, err := s.Key(ctx, token.ID)
	if err != nil || len(key.Token.Courses) != 1 || key.Grants[""] != access.Admin {
		t.Errorf("the key is %+v, %v", key, err)
	}
	must(s.NoteTokensUsed(ctx, []access.TokenID{token.ID}))
	must(second(s.RevokeToken(ctx, by, by.Account, token.ID)))
	must(s.Record(ctx, by, access.Entry{Action: access.LineRead, Run: "go-1"}))
	for _, q := range []access.AuditQuery{{Accounts: true, Most: 50}, {Courses: []string{"go"}, Run: "go-1", Most: 50}} {
		entries, err := s.Audit(ctx, q)
		if err != nil || len(entries) < 4 {
			t.Errorf("the audit has %d entries, %v", len(entries), err)
		}
	}
	must(second(s.PruneAudit(ctx, 30)))
}
