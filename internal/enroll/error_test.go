package enroll_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

func TestCodeOf(t *testing.T) {
	t.Parallel()
	coded := &enroll.Error{Code: enroll.Busy}
	for _, test := range []struct {
		name string
		err  error
		want enroll.Code
	}{
		{"nil has no code", nil, ""},
		{"a foreign error is internal", io.EOF, enroll.Internal},
		{"a coded error has its code", coded, enroll.Busy},
		{"a wrapped error keeps its code", fmt.Errorf("accepting: %w", fmt.Errorf("committing: %w", coded)), enroll.Busy},
		{"a joined error keeps its code", errors.Join(io.EOF, coded), enroll.Busy},
		{"a SendError has its code", fmt.Errorf("sending: %w", &enroll.SendError{Code: enroll.MailRefused}), enroll.MailRefused},
		{"the outermost code counts", enroll.Errorf(enroll.Unavailable, "accepting: %w", coded), enroll.Unavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := enroll.CodeOf(test.err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestErrorf(t *testing.T) {
	t.Parallel()
	t.Run("without a cause has a message for people", func(t *testing.T) {
		t.Parallel()
		err := enroll.Errorf(enroll.NotFound, "no run %s", "go-1")
		e, ok := errors.AsType[*enroll.Error](err)
		if !ok || e.Code != enroll.NotFound || e.Message != "no run go-1" || errors.Unwrap(err) != nil {
			t.Errorf("got %+v", err)
		}
		if err.Error() != "not_found: no run go-1" {
			t.Errorf("reads %q", err)
		}
	})
	t.Run("with a cause wraps it and says it once", func(t *testing.T) {
		t.Parallel()
		err := enroll.Errorf(enroll.Unavailable, "settling run %s: %w", "go-1", context.DeadlineExceeded)
		e, ok := errors.AsType[*enroll.Error](err)
		if !ok || e.Code != enroll.Unavailable || e.Message != "" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %+v", err)
		}
		if err.Error() != "unavailable: settling run go-1: context deadline exceeded" {
			t.Errorf("reads %q", err)
		}
	})
	t.Run("with two causes wraps both", func(t *testing.T) {
		t.Parallel()
		err := enroll.Errorf(enroll.OutcomeUnknown, "%w, then %w", io.EOF, context.Canceled)
		if !errors.Is(err, io.EOF) || !errors.Is(err, context.Canceled) || enroll.CodeOf(err) != enroll.OutcomeUnknown {
			t.Errorf("got %+v", err)
		}
	})
	t.Run("with %v wraps nothing", func(t *testing.T) {
		t.Parallel()
		if err := enroll.Errorf(enroll.Internal, "reading: %v", io.EOF); errors.Is(err, io.EOF) {
			t.Errorf("%+v wraps its argument", err)
		}
	})
}

func TestErrorReads(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		err  *enroll.Error
		want string
	}{
		{"as its code alone", &enroll.Error{Code: enroll.Busy}, "busy"},
		{"as code and message", &enroll.Error{Code: enroll.Busy, Message: "the line is long"}, "busy: the line is long"},
		{"as code and cause", &enroll.Error{Code: enroll.Internal, Err: io.EOF}, "internal: EOF"},
		{
			"as all it has",
			&enroll.Error{Code: enroll.Invalid, Message: "look", Err: io.EOF, Faults: []enroll.Fault{
				{Field: "name", Code: "required", Detail: "is required"}, {Field: "email", Code: "form", Detail: "is odd"},
			}},
			"invalid: look; name: is required; email: is odd: EOF",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.err.Error(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !errors.Is(test.err.Unwrap(), test.err.Err) {
				t.Errorf("unwraps to %v", test.err.Unwrap())
			}
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	by := enroll.WindowTimes{Now: opens.Add(time.Hour), OpensAt: opens, ClosesAt: closes}
	said := make(map[string]enroll.Code)
	for code, judged := range map[enroll.Code]bool{
		enroll.RunNotOpen: true, enroll.RunClosed: true, enroll.RunOver: false, enroll.CodeCalledOff: false, enroll.RunBegun: false,
	} {
		e, ok := errors.AsType[*enroll.Error](enroll.Refused(code, by))
		if !ok || e.Code != code || e.Message == "" || e.Faults != nil || (e.Window != nil) != judged || judged && *e.Window != by {
			t.Errorf("%s: got %+v", code, e)
		}
		if other, is := said[e.Message]; is {
			t.Errorf("%s and %s both read %q", code, other, e.Message)
		}
		said[e.Message] = code
	}
}
