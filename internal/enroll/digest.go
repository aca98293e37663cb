package enroll

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// Digest is a keyed hash of everything that a Submission of kind Register asks
// for, by which a second one with its IdempotencyKey is compared. It covers what
// was parsed, not how it was written. An option that was left out does not enter
// it, so that a new option changes no digest of a request without it.
type Digest string

// DigestKey is the secret that digests are made with.
type DigestKey []byte

// digestVersion is the first byte of a digest. It changes with what a digest
// covers and how, and each version has a key of its own.
const (
	digestVersion = 1
	digestLength  = 1 + 16 // half of SHA-256 tells requests apart well enough
)

// Digest returns the digest of a Submission of kind Register.
func (k DigestKey) Digest(sub Submission) Digest {
	said := make([]byte, 0, 256)
	says := func(what byte, value string) {
		said = append(said, what)
		said = binary.AppendUvarint(said, uint64(len(value)))
		said = append(said, value...)
	}
	says('k', string(sub.Kind))
	says('n', string(sub.Name))
	says('e', sub.Address.Typed)
	if sub.Language != "" {
		says('l', string(sub.Language))
	}
	if sub.Notify {
		says('f', "")
	}
	if sub.WaitlistLimit != nil {
		says('w', strconv.Itoa(*sub.WaitlistLimit))
	}
	if sub.OutsideWindow {
		says('o', "")
	}
	h := hmac.New(sha256.New, k)
	_, _ = h.Write(said) // a hash takes everything
	return Digest(h.Sum([]byte{digestVersion})[:digestLength])
}

// known tells whether this program can compare the digest with its own: a newer
// one may have written it.
func (d Digest) known() bool { return len(d) == digestLength && d[0] == digestVersion }
