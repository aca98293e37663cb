package access

import (
	"time"

	"github.com/lastseat/lastseat/internal/enroll"
)

// AccountID is the number of an account inside one installation.
type AccountID int32

// Account is an organiser who can be given rights.
type Account struct {
	ID        AccountID
	Name      enroll.Name
	Address   enroll.Address // compared like a person's
	Language  enroll.Language
	Disabled  bool
	CreatedAt time.Time
	Grants    Grants
}

// AccountInput is what was sent to add an account, before it is validated.
type AccountInput struct {
	Name, Email string
	Language    *string // nil = English
}

// NewAccount returns the account, without an id and without grants, or an error
// of code Invalid with every fault of name, email and language.
func NewAccount(in AccountInput) (Account, error) {
	a := Account{Language: enroll.English}
	var errs [3]error
	a.Name, errs[0] = enroll.ParseName(in.Name)
	a.Address, errs[1] = enroll.ParseAddress(in.Email)
	if in.Language != nil {
		a.Language, errs[2] = enroll.ParseLanguage(*in.Language)
	}
	if err := enroll.JoinFaults(errs[:]...); err != nil {
		return Account{}, err
	}
	return a, nil
}
