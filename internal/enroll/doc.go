// Package enroll is the domain of Lastseat: courses, runs, the requests in a
// run's line, and the pure function that settles them.
//
// It owns the words (docs/design.md lists them), the rules for what a request
// may contain, and the error codes. It must not know how anything is stored,
// queued or shown: it does no I/O, reads no clock and starts no goroutine.
// Outside the standard library it imports only the tables of Unicode
// normalisation and IDNA, and the UUID type.
package enroll
