package enroll

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// Digest is a keyed hash of what a Submission of kind Register asks for. A
// later submission with the same IdempotencyKey is compared by it. It covers
// the parsed values and not their spelling. An option with its default does not
// enter it, so adding an option to the program leaves existing digests valid.
type Digest string

// DigestKey is the secret that digests are made with.
type DigestKey []byte

// digestVersion is the first byte of a digest. Raise it when a digest covers
// something else, or covers it differently. Each version has its own key.
const (
	digestVersion = 1
	digestLength  = 1 + 16 // half of SHA-256 is enough to tell requests apart
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
	_, _ = h.Write(said) // never fails
	return Digest(h.Sum([]byte{digestVersion})[:digestLength])
}

// known tells whether this program can compare the digest with its own. A newer
// program may have written it.
func (d Digest) known() bool { return len(d) == digestLength && d[0] == digestVersion }
