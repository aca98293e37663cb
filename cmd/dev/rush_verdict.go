package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// entry is a request as it stands in the line.
type entry struct {
	ID         uuid.UUID
	Ticket     int64
	Key        string // of the address
	Status     string
	Reason     string
	AcceptedAt time.Time
	DecidedAt  *time.Time
}

// readLine reads the run's line from the database: the verdict does not rest on
// what the API says.
func readLine(ctx context.Context, s *stack, slug string) ([]entry, error) {
	conn, err := pgx.Connect(ctx, s.PostgresURL)
	if err != nil {
		return nil, fmt.Errorf("reading the line: %w", err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `
		SELECT q.id, q.ticket, q.email_key, q.status, coalesce(q.reason, ''), q.accepted_at, q.decided_at
		FROM requests q JOIN runs r ON r.id = q.run_id WHERE r.slug = $1 ORDER BY q.ticket`, slug)
	if err != nil {
		return nil, fmt.Errorf("reading the line: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[entry])
}

// rushJSON is the last line of a rush with -json.
type rushJSON struct {
	People             int            `json:"people"`
	Seats              int            `json:"seats"`
	Accepted           int            `json:"accepted"`
	Confirmed          int            `json:"confirmed"`
	Waitlisted         int            `json:"waitlisted"`
	Rejected           map[string]int `json:"rejected"`
	Undecided          int            `json:"undecided"`
	Oversold           int            `json:"oversold"`
	OutOfOrder         int            `json:"out_of_order"`
	DuplicatesSeated   int            `json:"duplicates_seated"`
	SettledByTaskShare float64        `json:"settled_by_task_share"`
	AcceptPerSecond    float64        `json:"accept_per_second"`
	DecidedPerSecond   float64        `json:"decided_per_second"`
	DecidedP50         float64        `json:"decided_p50_ms"`
	DecidedP99         float64        `json:"decided_p99_ms"`
	Confirmations      int            `json:"confirmations"`
	ConfirmationsSent  int            `json:"confirmations_sent"` // when patience ended
}

// result is what a rush came to.
type result struct {
	rushJSON
	clicks       int
	lastDecision time.Duration // after the last answer
	took         time.Duration // from the first question to the last decision
	wrong        []string      // promises that were broken, in words
}

// judge compares what people were told with the line, and the line with the
// rules: the first who asked are the first served, each once, no seat twice.
func judge(people, seats int, clicks []*click, line []entry) result {
	r := result{rushJSON: rushJSON{People: people, Seats: seats, Accepted: len(clicks), Rejected: make(map[string]int)}, clicks: len(clicks)}
	wrong := func(format string, args ...any) { r.wrong = append(r.wrong, fmt.Sprintf(format, args...)) }

	// The line by itself.
	seated := make(map[string]bool)
	var early int // requests so far that were told "full" although their person has no seat
	var waits []float64
	var firstAccepted, lastDecided time.Time
	for i, e := range line {
		if e.Ticket != int64(i)+1 {
			wrong("ticket %d stands where %d belongs", e.Ticket, i+1)
		}
		switch e.Status {
		case "confirmed":
			r.Confirmed++
			r.OutOfOrder += early
			if seated[e.Key] {
				r.DuplicatesSeated++
			}
			seated[e.Key] = true
		case "rejected":
			r.Rejected[e.Reason]++
			if !seated[e.Key] {
				early++
			}
		case "waitlisted":
			r.Waitlisted++
		default:
			r.Undecided++
		}
		if firstAccepted.IsZero() || e.AcceptedAt.Before(firstAccepted) {
			firstAccepted = e.AcceptedAt
		}
		if e.DecidedAt != nil {
			waits = append(waits, float64(e.DecidedAt.Sub(e.AcceptedAt))/float64(time.Millisecond))
			if e.DecidedAt.After(lastDecided) {
				lastDecided = *e.DecidedAt
			}
		}
	}
	r.Oversold = max(r.Confirmed-seats, 0)
	if want := min(people, seats); r.Confirmed != want {
		wrong("%d seats were given, %d belong", r.Confirmed, want)
	}
	for count, text := range map[*int]string{
		&r.OutOfOrder: "pairs in which the later was served", &r.DuplicatesSeated: "second seats for one person", &r.Undecided: "requests undecided",
	} {
		if *count > 0 {
			wrong("%d %s", *count, text)
		}
	}

	// What people were told.
	byID := make(map[uuid.UUID]entry, len(line))
	for _, e := range line {
		byID[e.ID] = e
	}
	if len(byID) != len(clicks) {
		wrong("%d requests are in the line, %d were accepted", len(byID), len(clicks))
	}
	var firstSent, lastAnswer time.Time
	for _, c := range clicks {
		e, there := byID[c.ID]
		reason := ""
		if c.Reason != nil {
			reason = c.Reason.Code
		}
		if !there || e.Ticket != c.Ticket || e.Status != c.Status || e.Reason != reason || e.Key != c.email {
			wrong("person %d was told ticket %d %s %s, and the line says %d %s %s", c.person, c.Ticket, c.Status, reason, e.Ticket, e.Status, e.Reason)
		}
		if firstSent.IsZero() || c.sent.Before(firstSent) {
			firstSent = c.sent
		}
		if c.answered.After(lastAnswer) {
			lastAnswer = c.answered
		}
	}

	r.AcceptPerSecond = rounded(float64(len(clicks)) / lastAnswer.Sub(firstSent).Seconds())
	r.lastDecision, r.took = lastDecided.Sub(lastAnswer), lastDecided.Sub(firstSent)
	if n := len(waits); n > 0 {
		slices.Sort(waits)
		r.DecidedPerSecond = rounded(float64(n) / lastDecided.Sub(firstAccepted).Seconds())
		r.DecidedP50, r.DecidedP99 = rounded(waits[n/2]), rounded(waits[n*99/100])
	}
	return r
}

// rounded is exact enough for people and for comparisons.
func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

// err returns an error if a promise was broken.
func (r result) err() error {
	if len(r.wrong) > 0 {
		return fmt.Errorf("the rush broke a promise: %s", r.wrong[0])
	}
	return nil
}

// writeTable prints the result for people.
func (r result) writeTable(out io.Writer) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t"+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintln(w)
	row("people", "%d, with %d clicks", r.People, r.clicks)
	row("seats", "%d", r.Seats)
	row("accepted", "%d (%.0f per second)", r.Accepted, r.AcceptPerSecond)
	row("confirmed", "%d", r.Confirmed)
	for _, reason := range slices.Sorted(maps.Keys(r.Rejected)) {
		row("rejected, "+reason, "%d", r.Rejected[reason])
	}
	row("undecided", "%d", r.Undecided)
	row("decided", "%.0f per second", r.DecidedPerSecond)
	row("accepted to decided", "%.1f ms median, %.1f ms p99", r.DecidedP50, r.DecidedP99)
	row("last decision", "%d ms after the last answer", r.lastDecision.Milliseconds())
	row("settled by tasks", "%.1f %%", 100*r.SettledByTaskShare)
	row("confirmed by mail", "%d written, %d sent", r.Confirmations, r.ConfirmationsSent)
	row("oversold", "%d", r.Oversold)
	row("out of order", "%d", r.OutOfOrder)
	row("seated twice", "%d", r.DuplicatesSeated)
	_ = w.Flush() // to a terminal
	if len(r.wrong) == 0 {
		fmt.Fprintf(out, "\n  Verdict: right. The first %d people who asked have the seats, each one.\n\n", r.Confirmed)
		return
	}
	const most = 20
	fmt.Fprintf(out, "\n  Verdict: WRONG.\n")
	for _, text := range r.wrong[:min(len(r.wrong), most)] {
		fmt.Fprintf(out, "    %s\n", text)
	}
	if more := len(r.wrong) - most; more > 0 {
		fmt.Fprintf(out, "    and %d more\n", more)
	}
	fmt.Fprintln(out)
}
