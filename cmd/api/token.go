package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/postgres"
)

// parseToken reads what follows `api token`.
func parseToken(args []string) (action, error) {
	if len(args) == 0 {
		return nil, errUsage
	}
	var email, name, days, courses, id string
	var readOnly bool
	var do action
	texts, bools := map[string]*string{"email": &email}, map[string]*bool(nil)
	switch args[0] {
	case "add":
		texts["name"], texts["days"], texts["courses"], bools = &name, &days, &courses, map[string]*bool{"read-only": &readOnly}
		do = func(ctx context.Context, s *postgres.Store, stdout io.Writer) error {
			in := access.TokenInput{Name: name, Limits: access.Limits{ReadOnly: readOnly}}
			if courses != "" {
				in.Limits.Courses = strings.Split(courses, ",")
			}
			return addToken(ctx, s, stdout, email, in, days)
		}
	case "list":
		do = func(ctx context.Context, s *postgres.Store, stdout io.Writer) error {
			return listTokens(ctx, s, stdout, email)
		}
	case "revoke":
		texts["id"] = &id
		do = func(ctx context.Context, s *postgres.Store, _ io.Writer) error { return revokeToken(ctx, s, email, id) }
	default:
		return nil, errUsage
	}
	return do, parseVerb(args[1:], texts, bools)
}

// addToken adds a token and writes it, and nothing else, so that scripts can read
// it.
func addToken(ctx context.Context, s *postgres.Store, stdout io.Writer, email string, in access.TokenInput, days string) error {
	account, err := accountOf(ctx, s, email)
	if err != nil {
		return err
	}
	now := time.Now()
	if days != "" {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return enroll.FaultIn("days", enroll.Invalid, "range", "must be a whole number of days")
		}
		in.ExpiresAt = now.Add(time.Duration(n) * 24 * time.Hour)
	}
	token, err := access.NewToken(in, account.ID, nil, now)
	if err != nil {
		return err
	}
	secret := access.NewSecret()
	if token, err = s.AddToken(ctx, access.Operator, token, secret); err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, access.FormatToken(token.ID, secret))
	return err
}

func listTokens(ctx context.Context, s *postgres.Store, stdout io.Writer, email string) error {
	account, err := accountOf(ctx, s, email)
	if err != nil {
		return err
	}
	tokens, err := s.Tokens(ctx, account.ID)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tEXPIRES\tLAST USED\tREVOKED\tLIMITS")
	for _, t := range tokens {
		var limits []string
		if t.ReadOnly {
			limits = append(limits, "read-only")
		}
		limits = append(limits, t.Courses...)
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", t.ID, t.Name, day(t.ExpiresAt), day(t.LastUsed), day(t.RevokedAt), strings.Join(limits, ", "))
	}
	return w.Flush()
}

func revokeToken(ctx context.Context, s *postgres.Store, email, text string) error {
	account, err := accountOf(ctx, s, email)
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return enroll.FaultIn("id", enroll.Invalid, "range", "must be the number of a token")
	}
	_, err = s.RevokeToken(ctx, access.Operator, account.ID, access.TokenID(id))
	return err
}
