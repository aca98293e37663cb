package enroll

// Language is the language of a mail.
type Language string

// The languages in which mails can be written.
const (
	English Language = "en"
	German  Language = "de"
)

// Languages lists them.
var Languages = []Language{English, German}

// ParseLanguage returns the language, or an error of code Invalid whose fault
// names the field "language".
func ParseLanguage(s string) (Language, error) {
	for _, l := range Languages {
		if s == string(l) {
			return l, nil
		}
	}
	return "", FaultIn("language", Invalid, "unknown", "must be en or de")
}
