package enroll

import "strings"

// ParseSlug returns the slug, or an error of code Invalid whose fault names the
// field "slug": 1 to 64 characters, groups of a-z and 0-9 joined by single
// hyphens.
func ParseSlug(s string) (string, error) {
	ok := s != "" && len(s) <= 64 && !strings.HasPrefix(s, "-") && !strings.HasSuffix(s, "-") && !strings.Contains(s, "--")
	for _, c := range []byte(s) {
		ok = ok && (c == '-' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9')
	}
	if !ok {
		return "", FaultIn("slug", Invalid, "form", "must be 1 to 64 characters of a-z and 0-9, in groups joined by single hyphens")
	}
	return s, nil
}

// ParseNewSlug is ParseSlug for a course or a run that is being created. It
// also refuses a slug that looks like the id of a registration (32 hexadecimal
// digits, with or without hyphens), because slugs are logged and an id is a
// credential. Slugs that are older than this rule keep working.
func ParseNewSlug(s string) (string, error) {
	slug, err := ParseSlug(s)
	if digits := strings.ReplaceAll(slug, "-", ""); err == nil && len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == "" {
		return "", FaultIn("slug", Invalid, "form", "must not look like a UUID, as the ids of registrations do")
	}
	return slug, err
}
