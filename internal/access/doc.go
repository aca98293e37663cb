// Package access decides who may do what: the accounts of organisers, the roles
// that are granted to them, and the API tokens by which programs act for them.
//
// It owns the rules about rights and the form of a token. It must not know HTTP
// or SQL. The Keyring is the one thing here that keeps state and reads a clock:
// it remembers tokens, so that checking one usually asks no database.
package access
