package enroll

// Receipt is what an accepted submission got.
type Receipt struct {
	Registration // for a kind other than Register, the request itself
	// What stands in the line. It equals the submission unless Again.
	Kind          Kind
	Name          Name
	Email         string
	Language      Language
	Notify        bool
	WaitlistLimit *int
	Target        int64
	Digest        Digest // empty = compare by the fields above
	Again         bool   // an earlier submission with the same IdempotencyKey got the ticket
	Corrected     bool   // its address was corrected, so it has another id now
}

// ReceiptFor returns the receipt for a submission that got the registration.
func ReceiptFor(sub Submission, r Registration) Receipt {
	return Receipt{
		Registration: r, Kind: sub.Kind, Name: sub.Name, Email: sub.Address.Typed, Language: sub.Language, Notify: sub.Notify,
		WaitlistLimit: sub.WaitlistLimit, Target: sub.Target, Digest: sub.Digest,
	}
}

// CheckAgainst returns the receipt as the answer to the submission. It returns
// an error of code KeyReused if the receipt belongs to a submission with other
// content, and of code Corrected if the registration's address has been
// corrected since. A corrected registration without a digest no longer shows
// what was submitted, so every repetition gets Corrected.
func (r Receipt) CheckAgainst(sub Submission) (Receipt, error) {
	switch compared := r.Digest.known(); {
	case r.Again && !r.Matches(sub) && (compared || !r.Corrected):
		return Receipt{}, ErrKeyReused
	case r.Corrected:
		return Receipt{}, ErrCorrected
	}
	return r, nil
}

// Matches tells whether the request in the line has the content of the
// submission.
func (r Receipt) Matches(sub Submission) bool {
	if r.Digest.known() && sub.Digest.known() {
		return r.Digest == sub.Digest
	}
	sameLimit := (r.WaitlistLimit == nil) == (sub.WaitlistLimit == nil) && (r.WaitlistLimit == nil || *r.WaitlistLimit == *sub.WaitlistLimit)
	return r.Kind == sub.Kind && r.Name == sub.Name && r.Email == sub.Address.Typed && r.Language == sub.Language && r.Notify == sub.Notify &&
		sameLimit && r.Target == sub.Target
}

// AcceptResult is the result of accepting one submission: a receipt, or an
// error with the code of the refusal.
type AcceptResult struct {
	Receipt Receipt
	Err     error
}
