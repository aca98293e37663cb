package mailqueue_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	ics "github.com/emersion/go-ical"

	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/enrolltest"
	"github.com/lastseat/lastseat/internal/mail"
	"github.com/lastseat/lastseat/internal/pgtest"
	"github.com/lastseat/lastseat/internal/testwait"
)

// diary is somebody's calendar. It reads entries with another library than the
// one that writes them, and follows RFC 5546, 2.1.4 and 2.1.5: of one UID the
// entry with the higher SEQUENCE counts, and of two with the same the one that
// was written later.
type diary map[string]event

type event struct {
	sequence   int
	written    time.Time
	struck     bool
	start, end time.Time
	location   string
}

// take takes an entry that came by mail. It tells whether the entry strikes out
// what is not there.
func (d diary) take(t *testing.T, text []byte) (needless bool) {
	t.Helper()
	c, err := ics.NewDecoder(bytes.NewReader(text)).Decode()
	if err != nil || len(c.Events()) != 1 {
		t.Fatalf("%v in\n%s", err, text)
	}
	method, err := c.Props.Text(ics.PropMethod)
	if err != nil {
		t.Fatal(err)
	}
	props := c.Events()[0].Props
	say := func(name string) string {
		text, err := props.Text(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	at := func(name string) time.Time {
		at, err := props.DateTime(name, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	uid := say(ics.PropUID)
	sequence, err := props.Get(ics.PropSequence).Int()
	if err != nil {
		t.Fatal(err)
	}
	e := event{
		sequence: sequence, written: at(ics.PropDateTimeStamp), struck: method == "CANCEL",
		start: at(ics.PropDateTimeStart), end: at(ics.PropDateTimeEnd), location: say(ics.PropLocation),
	}
	known, there := d[uid]
	if !there || e.sequence > known.sequence || e.sequence == known.sequence && !e.written.Before(known.written) {
		d[uid] = e
	}
	return e.struck && !there
}

// shows returns what the calendar shows.
func (d diary) shows() []string {
	var all []string
	for e := range maps.Values(d) {
		if !e.struck {
			all = append(all, fmt.Sprintf("%s–%s %s", e.start.Format(time.RFC3339), e.end.Format(time.RFC3339), e.location))
		}
	}
	slices.Sort(all)
	return all
}

// entries returns the calendar entries of a mail as its mailbox gets it.
func entries(t *testing.T, c *mail.Composer, m enroll.Mail) (all [][]byte) {
	t.Helper()
	composed, err := c.Compose(m)
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if _, err := composed.WriteTo(&raw); err != nil {
		t.Fatal(err)
	}
	message, err := netmail.ReadMessage(&raw)
	if err != nil {
		t.Fatal(err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		return nil // without attachments
	}
	for parts := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		part, err := parts.NextPart()
		if err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/calendar") {
			text, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text)
		}
	}
}

// life is a run of two seats with a waiting list, and four people who come and go
// while it is moved.
type life struct {
	*place
	random *rand.Rand
}

// step does something that some of them are told of.
func (l *life) step() string {
	l.t.Helper()
	person := l.random.IntN(4)
	do := func(sub enroll.Submission) {
		l.t.Helper()
		if _, err := l.store.Accept(l.t.Context(), []enroll.Submission{sub}); err != nil {
			l.t.Fatal(err)
		}
		if _, err := l.store.Settle(l.t.Context(), []enroll.RunID{l.run}, enrolltest.SettleLimits(100)); err != nil {
			l.t.Fatal(err)
		}
	}
	switch l.random.IntN(10) {
	case 0, 1, 2, 3:
		do(enrolltest.Person("a", person))
		return fmt.Sprint(person, " asks")
	case 4, 5, 6:
		held := pgtest.Query[int64](l.t, l.url, `SELECT ticket FROM requests WHERE email_key = $1 AND status IN ('confirmed', 'waitlisted')`, address(person))
		if len(held) > 0 {
			do(enroll.NewCancel("a", held[0], false))
		}
		return fmt.Sprint(person, " cancels")
	case 7:
		days := 1 + l.random.IntN(3)
		pgtest.Exec(l.t, l.url, `UPDATE runs SET starts_at = date_trunc('day', now()) + make_interval(days => $1), ends_at = date_trunc('day', now()) + make_interval(days => $1, hours => 2)`, days)
		return fmt.Sprint("it is moved to day ", days)
	case 8:
		pgtest.Exec(l.t, l.url, `UPDATE runs SET location = 'Room ' || $1::text`, fmt.Sprint(l.random.IntN(2)))
		return "it is moved to another room"
	default:
		pgtest.Exec(l.t, l.url, `UPDATE runs SET starts_at = date_trunc('minute', now()) + interval '50 minutes', ends_at = date_trunc('minute', now()) + interval '90 minutes'`)
		return "it is moved to within the hour, for which there are reminders"
	}
}

func address(person int) string { return fmt.Sprintf("p%d@example.org", person) }

// told waits until everybody has been told everything.
func (l *life) told() {
	l.t.Helper()
	testwait.Until(l.t, "every mail and every change is told", func() bool {
		return pgtest.Query[bool](l.t, l.url, `SELECT NOT EXISTS (SELECT FROM mails WHERE state = 'pending') AND NOT EXISTS (SELECT FROM run_changes)`)[0]
	})
}

// TestCalendarsEndWithTheRightEntries replays what people get into calendars of
// theirs. In the end each shows the seats that its owner has, when and where they
// are now, and nothing else: in whatever order the mails arrived, and also if
// some came twice. Nothing is ever struck out that was not entered.
func TestCalendarsEndWithTheRightEntries(t *testing.T) {
	t.Parallel()
	composer, err := mail.New(mail.Options{From: netmail.Address{Name: "Lastseat", Address: "hello@lastseat.example"}, PublicURL: "https://lastseat.example"})
	if err != nil {
		t.Fatal(err)
	}
	for name, pace := range map[string]time.Duration{"each by itself": 0, "at once": 0, "summed up": 400 * time.Millisecond} {
		for _, end := range []string{"", ", called off"} {
			t.Run(name+end, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				pgtest.Exec(t, p.url, `UPDATE runs SET capacity = 2, first_capacity = 2, waitlist_capacity = NULL, first_waitlist_capacity = NULL, location = 'Room 0'`)
				o := options
				o.ChangeWindow, o.Pace = 20*time.Millisecond, pace
				p.worker(p.store, o)
				seed := rand.Uint64()
				l := &life{place: p, random: rand.New(rand.NewPCG(seed, 0))}
				var steps []string
				for range 30 {
					steps = append(steps, l.step())
					if name == "each by itself" || l.random.IntN(5) == 0 {
						l.told()
					}
				}
				if end != "" {
					if _, err := p.store.Accept(t.Context(), []enroll.Submission{enroll.NewCallOff("a")}); err != nil {
						t.Fatal(err)
					}
					if _, err := p.store.Settle(t.Context(), []enroll.RunID{p.run}, enrolltest.SettleLimits(100)); err != nil {
						t.Fatal(err)
					}
				}
				l.told()
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("seed %d: %s", seed, strings.Join(steps, "; "))
					}
				})
				l.requireDiaries(composer)
			})
		}
	}
}

// requireDiaries holds each calendar against the ledger.
func (l *life) requireDiaries(c *mail.Composer) {
	t := l.t
	t.Helper()
	for person := range 4 {
		d, shuffled := make(diary), make(diary)
		var all [][]byte
		for _, m := range l.sent {
			if m.To.Typed != address(person) {
				continue
			}
			for _, text := range entries(t, c, m) {
				if d.take(t, text) {
					t.Errorf("%s, of kind %s, strikes out what was not entered", m.ID, m.Kind)
				}
				all = append(all, text)
			}
		}
		want := pgtest.Query[string](t, l.url, `
			SELECT to_char(r.starts_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"–') || to_char(r.ends_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z" ') || r.location
			FROM requests q JOIN runs r ON r.id = q.run_id WHERE q.email_key = $1 AND q.status = 'confirmed'`, address(person))
		if got := d.shows(); !slices.Equal(got, want) {
			t.Errorf("the calendar of %s shows %q, want %q", address(person), got, want)
		}
		all = append(all, all...)
		l.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, text := range all {
			shuffled.take(t, text)
		}
		if got := shuffled.shows(); !slices.Equal(got, want) {
			t.Errorf("in another order, the calendar of %s shows %q, want %q", address(person), got, want)
		}
	}
}
