package httpapi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/lastseat/lastseat/internal/enroll"
)

// noStatus has the codes that no client of the API is ever told, each with the
// reason. One that came here all the same would be answered 500.
var noStatus = map[enroll.Code]string{
	enroll.MailRefused:  "workers alone talk to the mail server",
	enroll.MailDeferred: "workers alone talk to the mail server",
}

// TestEveryCodeHasAStatus keeps who adds a code from forgetting what the API
// answers: without an entry that is 500.
func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	codes := domainCodes(t)
	for _, code := range codes {
		_, told := statuses[code]
		if reason := noStatus[code]; told == (reason != "") {
			t.Errorf("code %q: has a status: %t; has a reason to have none: %q; want one of the two", code, told, reason)
		}
	}
	for code := range noStatus {
		if !slices.Contains(codes, code) {
			t.Errorf("code %q is excluded, and there is no such code", code)
		}
	}
}

// domainCodes returns the codes that the source of package enroll declares.
func domainCodes(t *testing.T) (codes []enroll.Code) {
	t.Helper()
	files, err := filepath.Glob("../enroll/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is {
				return true
			}
			if kind, is := spec.Type.(*ast.Ident); !is || kind.Name != "Code" {
				return true
			}
			for _, v := range spec.Values {
				if literal, is := v.(*ast.BasicLit); is {
					code, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					codes = append(codes, enroll.Code(code))
				}
			}
			return true
		})
	}
	if len(codes) < 10 {
		t.Fatalf("only %d codes were found in the source: %q", len(codes), codes)
	}
	return codes
}
