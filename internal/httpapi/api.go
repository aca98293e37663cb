// Package httpapi is the HTTP contract: routes, decoding, answers and errors.
//
// It owns docs/openapi.yaml. It must not know SQL, Redis or Asynq, and decides
// nothing about seats. A registration's id is the person's only credential, so
// no path, id, name or address is ever logged here.
package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/calendar"
	"github.com/lastseat/lastseat/internal/enroll"
)

// Catalogue reads courses and runs.
type Catalogue interface {
	Courses(ctx context.Context, q enroll.CourseQuery) ([]enroll.Course, error)
	Course(ctx context.Context, slug string) (enroll.Course, error)
	Runs(ctx context.Context, q enroll.RunQuery) ([]enroll.RunState, error)
	Run(ctx context.Context, slug string) (enroll.RunState, error)
}

// Intake accepts submissions.
type Intake interface {
	Accept(ctx context.Context, sub enroll.Submission) (enroll.Receipt, error)
}

// Watch reads registrations and waits for their changes.
type Watch interface {
	Get(ctx context.Context, id uuid.UUID) (enroll.Registration, error)
	Wait(ctx context.Context, id uuid.UUID, d time.Duration, enough func(enroll.Registration) bool) (enroll.Registration, error)
}

// Outbox is what people and organisers may ask of the mails.
type Outbox interface {
	// RequestLinks has the links of all registrations of the address mailed to
	// it, if there are any.
	RequestLinks(ctx context.Context, address enroll.AddressKey) error
	// Mails returns the mails about the registrations of a run that the query
	// asks for, by ticket.
	Mails(ctx context.Context, run string, q enroll.MailQuery) ([]enroll.OutboxMail, error)
	// ResendMail has a mail sent once more.
	ResendMail(ctx context.Context, by access.Caller, run string, id uuid.UUID) (enroll.OutboxMail, error)
}

// Line is what organisers read of a run's line, and correct in it.
type Line interface {
	// RegistrationAt returns the registration of the run with the ticket.
	RegistrationAt(ctx context.Context, run string, ticket int64) (enroll.Registration, error)
	// WaitlistPosition returns the place of a registration on the waiting list,
	// 0 if it is not on it.
	WaitlistPosition(ctx context.Context, r enroll.Registration) (int, error)
	// WasSeated tells whether a registration has a seat or had one.
	WasSeated(ctx context.Context, r enroll.Registration) (bool, error)
	// CorrectPerson changes the name and the address of a registration that has
	// a seat or a place on the waiting list.
	CorrectPerson(ctx context.Context, by access.Caller, run string, ticket int64, name enroll.Name, address enroll.Address) error
	// Line calls each for the entries after a ticket, in ticket order, until it
	// returns an error, which is then returned.
	Line(ctx context.Context, run string, after int64, each func(enroll.LineEntry) error) error
}

// Keyring tells whose API token a request carries.
type Keyring interface {
	// Authenticate returns the caller, or an error of code Unauthorized.
	Authenticate(ctx context.Context, token string) (access.Caller, error)
}

// Ports are what the API stands on.
type Ports struct {
	Catalogue Catalogue
	Intake    Intake
	Watch     Watch
	Outbox    Outbox
	Line      Line
	Keyring   Keyring
	Accounts  Accounts
	Audit     Audit
	Editor    Editor
}

// Options of the API.
type Options struct {
	PublicURL    string             // where clients reach it, without a trailing slash
	Organiser    calendar.Organiser // of the calendar entries of courses that name none
	MaxBodyBytes int64
	// Corrected tells every API that a registration has become something else, so
	// that a poll with its old id ends.
	Corrected func(run enroll.RunID, ticket int64)
	MaxWait   time.Duration // the longest that ?wait= holds an answer
}

type api struct {
	catalogue Catalogue
	intake    Intake
	outbox    Outbox
	watch     Watch
	line      Line
	keyring   Keyring
	accounts  Accounts
	audit     Audit
	editor    Editor
	options   Options
	log       *slog.Logger
}

// New returns the API as a handler.
func New(p Ports, o Options, log *slog.Logger, reg prometheus.Registerer) (http.Handler, error) {
	gin.SetMode(gin.ReleaseMode)
	a := &api{
		catalogue: p.Catalogue, intake: p.Intake, watch: p.Watch, outbox: p.Outbox, line: p.Line, keyring: p.Keyring, accounts: p.Accounts, audit: p.Audit, editor: p.Editor,
		options: o, log: log,
	}
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	if err := e.SetTrustedProxies(nil); err != nil { // by default everybody's X-Forwarded-For is believed
		return nil, fmt.Errorf("trusting no proxy: %w", err)
	}
	e.Use(a.observe(newMetrics(reg)), a.recover, a.answer(noSlashInNames), a.answer(a.authenticate))
	e.NoRoute(a.answer(func(*gin.Context) error { return errNoRoute }))
	e.NoMethod(a.answer(func(*gin.Context) error { return errNoMethod }))

	a.route(e)
	return e, nil
}

// route adds the routes. A line of each names the party that may use it.
func (a *api) route(e *gin.Engine) {
	get := func(path string, h func(*gin.Context) error) {
		e.GET(path, a.answer(h))
		e.HEAD(path, a.answer(h)) // the server leaves out the body
	}

	// What there is to ask for.
	get("/v1/courses", a.listCourses)
	get("/v1/courses/:course", a.getCourse)
	get("/v1/runs", a.listRuns)
	get("/v1/runs/:run", a.getRun)

	// Asking for a seat, hearing of it, and giving it up.
	e.POST("/v1/runs/:run/registrations", a.answer(a.register))
	get("/v1/registrations/:id", a.getRegistration)
	e.DELETE("/v1/registrations/:id", a.answer(a.cancel))
	get("/v1/registrations/:id/calendar.ics", a.getCalendar)
	e.POST("/v1/links", a.answer(a.requestLinks))

	// For organisers of the course: what changes a run, which is a request in its line …
	e.PATCH("/v1/runs/:run", a.answer(a.organising(a.resize)))
	e.POST("/v1/runs/:run/close-waitlist", a.answer(a.organising(a.closeWaitlist)))
	e.POST("/v1/runs/:run/call-off", a.answer(a.organising(a.callOff)))
	e.DELETE("/v1/runs/:run/registrations/:ticket", a.answer(a.organising(a.remove)))
	// … and what does not.
	e.PATCH("/v1/runs/:run/registrations/:ticket", a.answer(a.organising(a.correctPerson)))
	get("/v1/runs/:run/line", a.organising(a.getLine))
	get("/v1/runs/:run/mails", a.organising(a.listMails))
	e.POST("/v1/runs/:run/mails/:mail/resend", a.answer(a.organising(a.resendMail)))

	get("/v1/audit", a.signedIn(a.getAudit)) // for organisers, about their courses

	// For organisers: courses and runs themselves.
	e.POST("/v1/courses", a.answer(a.signedIn(a.addCourse)))
	get("/v1/courses/:course/settings", a.organisingCourse(a.getCourseSettings))
	e.PATCH("/v1/courses/:course/settings", a.answer(a.organisingCourse(a.changeCourse)))
	e.POST("/v1/courses/:course/runs", a.answer(a.organisingCourse(a.addRun)))
	get("/v1/runs/:run/settings", a.organising(a.getRunSettings))
	e.PATCH("/v1/runs/:run/settings", a.answer(a.organising(a.changeRun)))
	e.POST("/v1/runs/:run/publish", a.answer(a.organising(a.moveRun(a.editor.PublishRun))))
	e.POST("/v1/runs/:run/archive", a.answer(a.organising(a.moveRun(a.editor.ArchiveRun))))
	e.DELETE("/v1/runs/:run", a.answer(a.organising(a.deleteRun)))

	// For everybody with a token: the own account and its tokens, which admins may see, too.
	get("/v1/me", a.signedIn(a.getMe))
	get("/v1/accounts/:account", a.owning(a.getAccount))
	get("/v1/accounts/:account/tokens", a.owning(a.listTokens))
	e.POST("/v1/accounts/:account/tokens", a.answer(a.owning(a.addToken)))
	e.DELETE("/v1/accounts/:account/tokens/:token", a.answer(a.owning(a.revokeToken)))

	// For admins.
	get("/v1/accounts", a.managing(a.listAccounts))
	e.POST("/v1/accounts", a.answer(a.managing(a.addAccount)))
	e.POST("/v1/accounts/:account/grant", a.answer(a.managing(a.grantRole)))
	e.POST("/v1/accounts/:account/revoke", a.answer(a.managing(a.revokeRole)))
	e.POST("/v1/accounts/:account/disable", a.answer(a.managing(a.setDisabled(true))))
	e.POST("/v1/accounts/:account/enable", a.answer(a.managing(a.setDisabled(false))))
}

// readTimeout bounds what one look into the catalogue may take: a database that
// has vanished gives no answer at all, not even an error.
const readTimeout = 5 * time.Second

func reading(c *gin.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Request.Context(), readTimeout)
}

// answer is the one door for errors: a handler either answers or returns one.
func (a *api) answer(h func(*gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		if err := h(c); err != nil {
			a.problem(c, err)
		}
	}
}
