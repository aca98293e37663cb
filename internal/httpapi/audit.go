package httpapi

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
)

// Audit keeps what organisers did.
type Audit interface {
	// Record writes that a caller reads a list of people.
	Record(ctx context.Context, by access.Caller, e access.Entry) error
	// Audit returns the entries that the query asks for, the newest first.
	Audit(ctx context.Context, q access.AuditQuery) ([]access.Entry, error)
}

type auditEntryJSON struct {
	At           *time.Time        `json:"at"`
	Account      *access.AccountID `json:"account"` // null = an operator at the command line
	Token        *access.TokenID   `json:"token"`
	Client       *string           `json:"client"`
	Action       access.Action     `json:"action"`
	Course       *string           `json:"course"`
	Run          *string           `json:"run"`
	Ticket       *int64            `json:"ticket"`
	AboutAccount *access.AccountID `json:"about_account"`
	AboutToken   *access.TokenID   `json:"about_token"`
	Details      map[string]any    `json:"details"`
}

func showAuditEntry(e access.Entry) auditEntryJSON {
	shown := auditEntryJSON{
		At: instant(e.At), Account: unlessZero(e.Account), Token: unlessZero(e.Token), Action: e.Action,
		Course: unlessZero(e.Course), Run: unlessZero(e.Run), Ticket: unlessZero(e.Ticket),
		AboutAccount: unlessZero(e.AboutAccount), AboutToken: unlessZero(e.AboutToken), Details: e.Details,
	}
	if e.Client.IsValid() {
		shown.Client = unlessZero(e.Client.String())
	}
	return shown
}

// getAudit answers GET /v1/audit?course=&run=&limit=&after= about the courses of
// which the caller is an organiser, and about accounts if it is an admin.
func (a *api) getAudit(c *gin.Context) error {
	most, err := limitParameter(c)
	if err != nil {
		return err
	}
	caller := callerOf(c)
	q := access.AuditQuery{Run: c.Query("run"), Courses: caller.CoursesWith(access.Organiser), Accounts: caller.RoleForAll() == access.Admin, Most: most + 1}
	if q.After, err = auditAfter(c); err != nil {
		return err
	}
	if q.Courses != nil && len(q.Courses) == 0 {
		return errNotCourse
	}
	if err := a.narrow(c, &q); err != nil {
		return err
	}
	ctx, cancel := reading(c)
	defer cancel()
	entries, err := a.audit.Audit(ctx, q)
	if err != nil {
		return err
	}
	showPage(a, c, "entries", entries, most, showAuditEntry, func(e access.Entry) string {
		return joinCursor("audit", strings.Join([]string{
			strconv.FormatInt(e.ID.At.UnixMicro(), 10), strconv.Itoa(int(e.ID.Line)), strconv.FormatInt(e.ID.Number, 10),
		}, " "))
	})
	return nil
}

// narrow leaves in the query only the course and the run that the request names.
func (a *api) narrow(c *gin.Context, q *access.AuditQuery) error {
	if slug, given := c.GetQuery("course"); given {
		if _, err := enroll.ParseSlug(slug); err != nil {
			return enroll.FaultIn("course", enroll.Invalid, "form", "must be the slug of a course")
		}
		ctx, cancel := reading(c)
		defer cancel()
		if _, err := a.catalogue.Course(ctx, slug); err != nil {
			return err
		}
		if !callerOf(c).RoleFor(slug).AtLeast(access.Organiser) {
			return errNotCourse
		}
		q.Courses, q.Accounts = []string{slug}, false
	}
	if slug, given := c.GetQuery("run"); given {
		if _, err := enroll.ParseSlug(slug); err != nil {
			return enroll.FaultIn("run", enroll.Invalid, "form", "must be the slug of a run")
		}
		organises, err := a.organises(c, slug)
		if err != nil {
			return err
		}
		if !organises {
			return errNotCourse
		}
	}
	return nil
}

// auditAfter returns the entry that the request's after parameter names.
func auditAfter(c *gin.Context) (id access.EntryID, err error) {
	kind, text, err := cursorParameter(c)
	if err != nil || kind == "" {
		return id, err
	}
	parts := strings.Split(text, " ")
	if kind != "audit" || len(parts) != 3 {
		return id, errCursor
	}
	var numbers [3]int64
	for i, bits := range []int{64, 32, 64} {
		if numbers[i], err = strconv.ParseInt(parts[i], 10, bits); err != nil {
			return id, errCursor
		}
	}
	at := time.UnixMicro(numbers[0]).UTC()
	if at.Year() < 1970 || at.Year() > 9999 {
		return id, errCursor
	}
	return access.EntryID{At: at, Line: int32(numbers[1]), Number: numbers[2]}, nil
}
