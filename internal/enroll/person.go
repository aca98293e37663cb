package enroll

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// MaxName is the longest name, in runes.
const MaxName = 200

// The longest address and local part, in octets (RFC 5321, 4.5.3.1: a path of
// 256 octets includes its angle brackets).
const (
	MaxAddress   = 254
	maxLocalPart = 64
)

// Name is a person's name as it was typed, without surrounding blanks.
type Name string

// ParseName returns the name, or an error of code Invalid whose fault names the
// field "name". The name can be stored, put into a mail header and printed: it
// is valid UTF-8 of 1 to MaxName runes, has at least one visible character, and
// holds no control characters and no characters that reorder text.
func ParseName(s string) (Name, error) {
	fault := func(code, detail string) (Name, error) {
		return "", FaultIn("name", Invalid, code, detail)
	}
	if !utf8.ValidString(s) {
		return fault("invalid_text", "must be valid UTF-8")
	}
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return fault("required", "is required")
	case utf8.RuneCountInString(s) > MaxName:
		return fault("too_long", "must not exceed 200 characters")
	case strings.ContainsFunc(s, forbidden):
		return fault("forbidden_character", forbiddenDetail)
	case !strings.ContainsFunc(s, visible):
		return fault("invisible", invisibleDetail)
	}
	return Name(s), nil
}

func visible(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !unseen(r)
}

// unseen tells whether a rune shows nothing although it is not a blank. These
// are format characters, characters that Unicode calls ignorable (Hangul
// fillers are letters by category), and the empty Braille pattern.
func unseen(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) || r == '\u2800'
}

// unseenInAddress leaves the joiners to IDNA, which knows where they belong.
// The others IDNA would drop silently, but mail goes to the address as typed.
func unseenInAddress(r rune) bool {
	return unseen(r) && r != '\u200c' && r != '\u200d'
}

// AddressKey identifies a mailbox: two addresses with the same key are the same
// person.
type AddressKey string

// Address is an e-mail address.
type Address struct {
	Typed string     // as it was typed, without surrounding blanks
	Key   AddressKey // by which addresses are compared
}

// Mailbox returns the address that mail goes to: the local part as typed, since
// only the receiving server may interpret it, and the domain as it is looked
// up.
func (a Address) Mailbox() string {
	local, _, _ := strings.Cut(a.Typed, "@")
	_, domain, _ := strings.Cut(string(a.Key), "@")
	return local + "@" + domain
}

// domains maps a domain to the A-labels by which it is looked up (UTS #46,
// non-transitional), and refuses domains that cannot be registered.
var domains = idna.New(
	idna.MapForLookup(),
	idna.BidiRule(),
	idna.Transitional(false),
	idna.StrictDomainName(true),
	idna.VerifyDNSLength(true),
)

// ParseAddress returns the address, or an error of code Invalid whose fault
// names the field "email".
//
// It accepts the usual form: a dot-atom (RFC 5322, 3.2.3), an @ and a domain of
// at least two labels, which may be internationalised. It refuses quoted and
// commented local parts, address literals, display names and internationalised
// local parts, because too few mail servers deliver to them.
//
// The key is the address in NFC and lower case, with the domain as A-labels:
// nearly all servers ignore the case of the local part. Dots and plus signs are
// significant.
func ParseAddress(s string) (Address, error) {
	fault := func(code, detail string) (Address, error) {
		return Address{}, FaultIn("email", Invalid, code, detail)
	}
	if !utf8.ValidString(s) {
		return fault("invalid_text", "must be valid UTF-8")
	}
	s = strings.TrimSpace(s)
	switch {
	case s == "":
		return fault("required", "is required")
	case len(s) > MaxAddress:
		return fault("too_long", "must not exceed 254 bytes")
	case strings.ContainsFunc(s, forbidden):
		return fault("forbidden_character", forbiddenDetail)
	case strings.ContainsFunc(s, unseenInAddress):
		return fault("forbidden_character", "must not contain invisible characters")
	case strings.ContainsAny(s, "<>\"()[]\\,;: \t"):
		return fault("form", "must be a plain address like name@example.org, without quotes, brackets, spaces or a display name")
	}
	local, domain, found := strings.Cut(s, "@")
	switch {
	case !found || local == "" || domain == "":
		return fault("form", "must be an address like name@example.org")
	case strings.Contains(domain, "@"):
		return fault("form", "must contain only one @")
	case len(local) > maxLocalPart:
		return fault("too_long", "must not exceed 64 bytes before the @")
	case strings.ContainsFunc(local, func(r rune) bool { return r > unicode.MaxASCII }):
		return fault("local_part", "must contain only ASCII characters before the @: most mail servers cannot deliver to others")
	case strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(local, ".."):
		return fault("local_part", "must not have a dot at the start, at the end or next to another dot before the @")
	}
	ascii, err := domains.ToASCII(norm.NFC.String(domain))
	if err != nil {
		return fault("domain", "must have a valid domain after the @")
	}
	ascii = strings.ToLower(ascii)
	// A character can obey a rule that the character it maps to breaks: U+2137,
	// a symbol, maps to a letter that is written from right to left. So the
	// A-labels are checked as well.
	if ascii != strings.ToLower(domain) {
		if again, err := domains.ToASCII(ascii); err != nil || again != ascii {
			return fault("domain", "must have a valid domain after the @")
		}
	}
	dot := strings.LastIndexByte(ascii, '.')
	switch {
	case dot == len(ascii)-1:
		return fault("domain", "must not end with a dot")
	case dot < 0:
		return fault("domain", "must have a full domain, such as example.org, after the @")
	case strings.Trim(ascii[dot+1:], "0123456789") == "":
		return fault("domain", "must have a domain, not a number, after the @")
	case len(local)+1+len(ascii) > MaxAddress:
		return fault("too_long", "must not exceed 254 bytes")
	}
	return Address{Typed: s, Key: AddressKey(strings.ToLower(local) + "@" + ascii)}, nil
}
