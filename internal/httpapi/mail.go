package httpapi

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// linksTime is when POST /v1/links is answered: later than writing a mail takes,
// or the time would tell whether one was written.
const linksTime = 100 * time.Millisecond

// requestLinks answers POST /v1/links with 202 whether or not anybody has this
// address: a seat is nobody else's business.
func (a *api) requestLinks(c *gin.Context) error {
	var body struct {
		Email string `json:"email"`
	}
	if err := a.decode(c, &body); err != nil {
		return err
	}
	address, err := enroll.ParseAddress(body.Email)
	if err != nil {
		return err
	}
	answerAt := time.After(linksTime)
	ctx, cancel := reading(c)
	defer cancel()
	if err := a.outbox.RequestLinks(ctx, address.Key); err != nil {
		return err
	}
	select {
	case <-answerAt:
	case <-ctx.Done(): // the client went away
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusAccepted, gin.H{
		"message": "If this address has registrations, their links are on the way to it. You can ask again in ten minutes.",
	})
	return nil
}

type mailJSON struct {
	ID       uuid.UUID        `json:"id"`
	Ticket   int64            `json:"ticket"`
	Kind     enroll.MailKind  `json:"kind"`
	Sequence int              `json:"sequence"`
	Email    *string          `json:"email"`
	State    enroll.MailState `json:"state"`
	Attempts int              `json:"attempts"`
	DueAt    *time.Time       `json:"due_at"`
	NextAt   *time.Time       `json:"next_at"`
	EndedAt  *time.Time       `json:"ended_at"`
	Problem  *string          `json:"problem"`
	ToldBy   *uuid.UUID       `json:"told_by"`
}

func showMail(m enroll.OutboxMail) mailJSON {
	shown := mailJSON{
		ID: m.ID, Ticket: m.Ticket, Kind: m.Kind, Sequence: m.Sequence, Email: unlessZero(m.To), State: m.State, Attempts: m.Attempts,
		DueAt: instant(m.DueAt), NextAt: instant(m.NextAt), EndedAt: instant(m.EndedAt), ToldBy: m.ToldBy,
	}
	if m.Problem != "" {
		shown.Problem = &m.Problem
	}
	return shown
}

// mailsPage is of how many tickets one answer lists the mails.
const mailsPage = 200

// listMails answers GET /v1/runs/{run}/mails?ticket=&state=&after=.
func (a *api) listMails(c *gin.Context) error {
	run, err := runSlug(c)
	if err != nil {
		return err
	}
	query, err := mailQuery(c)
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	mails, err := a.outbox.Mails(ctx, run, query)
	if found(c, run, err) != nil {
		return err
	}
	entry := access.Entry{Action: access.MailsRead, Run: run, Ticket: query.Ticket, Details: map[string]any{"mails": len(mails)}}
	if err := a.audit.Record(ctx, callerOf(c), entry); err != nil {
		return err
	}
	list := make([]mailJSON, len(mails))
	for i, m := range mails {
		list[i] = showMail(m)
	}
	c.JSON(http.StatusOK, gin.H{"mails": list})
	return nil
}

func mailQuery(c *gin.Context) (enroll.MailQuery, error) {
	q := enroll.MailQuery{Tickets: mailsPage}
	var err error
	if text, given := c.GetQuery("state"); given {
		if q.State, err = enroll.ParseMailState(text); err != nil {
			return q, err
		}
	}
	if q.Ticket, err = ticketParameter(c, "ticket", 1); err != nil {
		return q, err
	}
	if q.After, err = ticketParameter(c, "after", 0); err != nil {
		return q, err
	}
	if _, given := c.GetQuery("after"); given && q.Ticket != 0 {
		return q, enroll.FaultIn("after", enroll.Invalid, "excluded", "must not be combined with ticket")
	}
	return q, nil
}

// ticketParameter returns a parameter that is a ticket, least or more, and 0 if
// it was not sent.
func ticketParameter(c *gin.Context, name string, least uint64) (int64, error) {
	text, given := c.GetQuery(name)
	if !given {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n < least {
		return 0, enroll.FaultIn(name, enroll.Invalid, "range", fmt.Sprintf("must be a ticket, a whole number of at least %d", least))
	}
	return int64(n), nil
}

// resendMail answers POST /v1/runs/{run}/mails/{mail}/resend with 202 and the
// mail that is sent in its place.
func (a *api) resendMail(c *gin.Context) error {
	run, err := runSlug(c)
	if err != nil {
		return err
	}
	id, err := idParameter(c, "mail", "mail")
	if err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	m, err := a.outbox.ResendMail(ctx, callerOf(c), run, id)
	if found(c, run, err) != nil {
		return err
	}
	c.JSON(http.StatusAccepted, showMail(m))
	return nil
}
