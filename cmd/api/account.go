package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/lastseat/lastseat/internal/access"
	"github.com/lastseat/lastseat/internal/config"
	"github.com/lastseat/lastseat/internal/enroll"
	"github.com/lastseat/lastseat/internal/postgres"
)

// action is what `api account`, `api token` and `api audit` do with the database.
type action func(ctx context.Context, s *postgres.Store, stdout io.Writer) error

// manage runs an action on a database that is up to date.
func manage(ctx context.Context, c config.Config, do action, stdout io.Writer) error {
	store, err := postgres.Open(ctx, string(c.Postgres.URL), options(c, 1))
	if err != nil {
		return fmt.Errorf("postgres.url: %w", err)
	}
	defer store.Close()
	ready, cancel := context.WithTimeout(ctx, c.Postgres.ConnectTimeout+c.Postgres.StatementTimeout)
	defer cancel()
	if err := store.Ready(ready); err != nil {
		return err
	}
	return do(ctx, store, stdout)
}

// parseVerb reads the flags of a verb into the strings that it has. It returns
// flag.ErrHelp if help is asked for, and errUsage if anything is wrong.
func parseVerb(args []string, texts map[string]*string, bools map[string]*bool) error {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	for name, value := range texts {
		flags.StringVar(value, name, *value, "")
	}
	for name, value := range bools {
		flags.BoolVar(value, name, false, "")
	}
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return err
	case err != nil, flags.NArg() > 0:
		return errUsage
	}
	return nil
}

// parseAccount reads what follows `api account`.
func parseAccount(args []string) (action, error) {
	if len(args) == 0 {
		return nil, errUsage
	}
	var email, name, role, course string
	language := string(enroll.English)
	var do action
	texts := map[string]*string{"email": &email}
	switch args[0] {
	case "add":
		texts["name"], texts["language"], texts["role"], texts["course"] = &name, &language, &role, &course
		do = func(ctx context.Context, s *postgres.Store, stdout io.Writer) error {
			return addAccount(ctx, s, stdout, access.AccountInput{Name: name, Email: email, Language: &language}, role, course)
		}
	case "list":
		texts, do = nil, listAccounts
	case "grant":
		texts["role"], texts["course"] = &role, &course
		do = change(&email, func(ctx context.Context, s *postgres.Store, id access.AccountID) (access.Account, error) {
			g, err := access.NewGrant(role, course)
			if err != nil {
				return access.Account{}, err
			}
			return s.Grant(ctx, access.Operator, id, g)
		})
	case "revoke":
		texts["course"] = &course
		do = change(&email, func(ctx context.Context, s *postgres.Store, id access.AccountID) (access.Account, error) {
			return s.Revoke(ctx, access.Operator, id, course)
		})
	case "disable", "enable":
		do = change(&email, func(ctx context.Context, s *postgres.Store, id access.AccountID) (access.Account, error) {
			return s.SetDisabled(ctx, access.Operator, id, args[0] == "disable")
		})
	default:
		return nil, errUsage
	}
	return do, parseVerb(args[1:], texts, nil)
}

// addAccount adds an account, with a role if one is given.
func addAccount(ctx context.Context, s *postgres.Store, stdout io.Writer, in access.AccountInput, role, course string) error {
	account, err := access.NewAccount(in)
	if err != nil {
		return err
	}
	if role != "" || course != access.AllCourses {
		g, err := access.NewGrant(role, course)
		if err != nil {
			return err
		}
		account.Grants = access.Grants{g.Course: g.Role}
	}
	if account, err = s.AddAccount(ctx, access.Operator, account); err != nil {
		return err
	}
	return writeAccounts(stdout, account)
}

// change returns the action that changes the account with an address.
func change(email *string, do func(context.Context, *postgres.Store, access.AccountID) (access.Account, error)) action {
	return func(ctx context.Context, s *postgres.Store, stdout io.Writer) error {
		account, err := accountOf(ctx, s, *email)
		if err != nil {
			return err
		}
		if account, err = do(ctx, s, account.ID); err != nil {
			return err
		}
		return writeAccounts(stdout, account)
	}
}

// accountOf returns the account with an address.
func accountOf(ctx context.Context, s *postgres.Store, email string) (access.Account, error) {
	address, err := enroll.ParseAddress(email)
	if err != nil {
		return access.Account{}, err
	}
	return s.AccountByAddress(ctx, address.Key)
}

func listAccounts(ctx context.Context, s *postgres.Store, stdout io.Writer) error {
	const page = 1000
	var all []access.Account
	for after := access.AccountID(0); ; {
		accounts, err := s.Accounts(ctx, after, page)
		if err != nil {
			return err
		}
		all = append(all, accounts...)
		if len(accounts) < page {
			return writeAccounts(stdout, all...)
		}
		after = accounts[page-1].ID
	}
}

// writeAccounts writes a line for each account.
func writeAccounts(w io.Writer, accounts ...access.Account) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tEMAIL\tNAME\tSTATE\tROLES")
	for _, a := range accounts {
		state := "enabled"
		if a.Disabled {
			state = "disabled"
		}
		roles := ""
		for _, course := range slices.Sorted(maps.Keys(a.Grants)) {
			if roles != "" {
				roles += ", "
			}
			if roles += string(a.Grants[course]); course != access.AllCourses {
				roles += " of " + course
			}
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", a.ID, a.Address.Typed, a.Name, state, roles)
	}
	return t.Flush()
}

// day returns a time as lists show it, "-" for the zero time.
func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}
