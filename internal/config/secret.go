package config

// Secret is a value that holds a password. Printing, logging or marshalling it
// shows only whether it is set. Convert it with string(s) where you use it.
type Secret string

// String returns "[secret]", or "" if the secret is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// GoString returns what String returns, so that %#v shows no more than %v.
func (s Secret) GoString() string { return s.String() }

// MarshalText returns what String returns, so that JSON, YAML and log/slog show no more than %v.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
