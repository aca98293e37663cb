package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Readers of the document read the examples first.
func TestContract_examples_are_as_it_says(t *testing.T) {
	t.Parallel()
	c, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	hold := func(where string, r *openapi3.Response) {
		for media, content := range r.Content {
			examples := map[string]any{"": content.Example}
			for name, e := range content.Examples {
				examples[name] = e.Value.Value
			}
			for name, e := range examples {
				if e == nil {
					continue
				}
				text, err := json.Marshal(e)
				if err != nil {
					t.Fatal(err)
				}
				value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
				if err != nil {
					t.Fatal(err)
				}
				if err := c.schemas[content.Schema.Value].Validate(value); err != nil {
					t.Errorf("%s %s, the example %q: %v", where, media, name, err)
				}
				seen++
			}
		}
	}
	for name, r := range c.doc.Components.Responses {
		hold(name, r.Value)
	}
	for path, item := range c.doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for status, r := range operation.Responses.Map() {
				if r.Ref == "" {
					hold(fmt.Sprintf("%s %s %s", method, path, status), r.Value)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d examples were seen", seen)
	}
}
