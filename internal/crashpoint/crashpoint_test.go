package crashpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"github.com/lastseat/lastseat/internal/crashpoint"
)

// TestAllNamesEveryPoint: a point that is missing from All has no test.
func TestAllNamesEveryPoint(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "crashpoint.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared []crashpoint.Point
	ast.Inspect(file, func(n ast.Node) bool {
		if c, is := n.(*ast.ValueSpec); is {
			if kind, is := c.Type.(*ast.Ident); is && kind.Name == "Point" {
				name, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, crashpoint.Point(name))
			}
		}
		return true
	})
	all := crashpoint.All()
	if !slices.Equal(all, declared) {
		t.Errorf("All returns %q, but %q are declared", all, declared)
	}
	if slices.Sort(all); len(slices.Compact(all)) != len(declared) {
		t.Errorf("two points have the same name: %q", declared)
	}
}
