package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lastseat/lastseat/internal/enroll"
)

// contract is docs/openapi.yaml.
type contract struct {
	doc    *openapi3.T
	router routers.Router
	// schemas are those of the bodies of responses, compiled once: the library
	// would do it again for every response.
	schemas map[*openapi3.Schema]*jsonschema.Schema
}

var loadContract = sync.OnceValues(func() (contract, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("../../docs/openapi.yaml")
	if err != nil {
		return contract{}, err
	}
	doc.Servers = nil // any address
	router, err := legacy.NewRouter(doc, openapi3.EnableSchemaFormatValidation())
	if err != nil {
		return contract{}, err
	}
	schemas, err := compile(doc)
	return contract{doc, router, schemas}, err
})

func compile(doc *openapi3.T) (map[*openapi3.Schema]*jsonschema.Schema, error) {
	text, err := doc.MarshalJSON()
	if err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	const name = "openapi.json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource(name, value); err != nil {
		return nil, err
	}
	schemas := make(map[*openapi3.Schema]*jsonschema.Schema)
	add := func(pointer string, r *openapi3.Response) error {
		for media, content := range r.Content {
			if schemas[content.Schema.Value], err = compiler.Compile(name + pointer + "/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema"); err != nil {
				return err
			}
		}
		return nil
	}
	for key, r := range doc.Components.Responses {
		if err := add("#/components/responses/"+key, r.Value); err != nil {
			return nil, err
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			for status, r := range operation.Responses.Map() {
				if r.Ref != "" {
					continue // one of the components
				}
				pointer := fmt.Sprintf("#/paths/%s/%s/responses/%s", strings.ReplaceAll(path, "/", "~1"), strings.ToLower(method), status)
				if err := add(pointer, r.Value); err != nil {
					return nil, err
				}
			}
		}
	}
	return schemas, nil
}

func TestContract_is_valid(t *testing.T) {
	t.Parallel()
	if _, err := loadContract(); err != nil {
		t.Fatal(err)
	}
}

func TestContract_lists_the_kinds_of_mail(t *testing.T) {
	t.Parallel()
	c, err := loadContract()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, kind := range enroll.MailKinds() {
		if kind != enroll.MailLinks { // is about no registration in particular
			want = append(want, string(kind))
		}
	}
	for _, kind := range c.doc.Components.Schemas["Mail"].Value.Properties["kind"].Value.Enum {
		got = append(got, fmt.Sprint(kind))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the kinds are %q, want %q", got, want)
	}
}

// check holds a request (unless it is bad on purpose) and its response against
// the contract.
func (c contract) check(r *http.Request, requestBody []byte, bad bool, response *http.Response, body []byte) error {
	ctx := context.Background()
	// HEAD works wherever GET does, without a body.
	head := r.Method == http.MethodHead
	r = r.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(requestBody))
	if head {
		r.Method = http.MethodGet
	}
	options := &openapi3filter.Options{
		IncludeResponseStatus: true, RejectWhenRequestBodyNotSpecified: true, ExcludeResponseBody: true,
		AuthenticationFunc: showsToken,
	}
	route, parameters, err := c.router.FindRoute(r)
	// The library does not mind a slash too many, nor a parameter that is missing.
	if err != nil || strings.HasSuffix(r.URL.Path, "/") || strings.Count(r.URL.EscapedPath(), "/") != strings.Count(route.Path, "/") {
		return c.checkStray(response, body)
	}
	input := &openapi3filter.RequestValidationInput{Request: r, Route: route, PathParams: parameters, Options: options}
	if !bad {
		if err := openapi3filter.ValidateRequest(ctx, input); err != nil {
			return fmt.Errorf("the request: %w", err)
		}
	}
	if err := openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: response.StatusCode, Header: response.Header,
		Body: io.NopCloser(bytes.NewReader(body)), Options: options,
	}); err != nil {
		return err
	}
	documented := route.Operation.Responses.Status(response.StatusCode).Value
	return c.checkResponse(documented, response, body)
}

// showsToken tells whether a request carries what an operation for organisers
// asks for.
func showsToken(_ context.Context, in *openapi3filter.AuthenticationInput) error {
	if !strings.HasPrefix(in.RequestValidationInput.Request.Header.Get("Authorization"), "Bearer ") {
		return errors.New("there is no bearer token")
	}
	return nil
}

// checkStray checks the answer to what no operation of the document stands for.
func (c contract) checkStray(response *http.Response, body []byte) error {
	name := map[int]string{http.StatusNotFound: "NotFound", http.StatusMethodNotAllowed: "MethodNotAllowed", http.StatusUnauthorized: "Unauthorized"}[response.StatusCode]
	if name == "" {
		return fmt.Errorf("status %d where there is no operation", response.StatusCode)
	}
	return c.checkResponse(c.doc.Components.Responses[name].Value, response, body)
}

// checkResponse asserts that a response has the headers that it must have and no
// others, whatever its status, and a body as documented, or none.
func (c contract) checkResponse(documented *openapi3.Response, response *http.Response, body []byte) error {
	got := response.Header
	allowed := []string{"Date", "Content-Length", "Connection", "Transfer-Encoding"}
	for name, header := range documented.Headers {
		canonical := http.CanonicalHeaderKey(name)
		allowed = append(allowed, canonical)
		if header.Value.Required && got.Get(name) == "" {
			return fmt.Errorf("the header %s is missing", name)
		}
		if len(got[canonical]) > 1 {
			return fmt.Errorf("the header %s is there twice", name)
		}
	}
	if len(documented.Content) > 0 {
		allowed = append(allowed, "Content-Type")
	}
	for name := range got {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("the header %s is not documented", name)
		}
	}
	if len(documented.Content) == 0 || response.Request.Method == http.MethodHead {
		if len(body) > 0 {
			return fmt.Errorf("there is a body")
		}
		return nil
	}
	media, _, _ := strings.Cut(got.Get("Content-Type"), ";")
	content := documented.Content[media]
	if content == nil {
		return fmt.Errorf("the Content-Type %s is not documented", media)
	}
	var value any = string(body)
	if strings.HasSuffix(media, "json") {
		var err error
		if value, err = jsonschema.UnmarshalJSON(bytes.NewReader(body)); err != nil {
			return err
		}
	}
	return c.schemas[content.Schema.Value].Validate(value)
}

// TestContract_has_every_route, and nothing else: the document and the router are
// compared both ways.
func TestContract_has_every_route(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	routes := make(map[string]bool)
	parameter := regexp.MustCompile(`:(\w+)`)
	for _, r := range s.routes {
		if r.Method != http.MethodHead { // wherever GET is
			routes[r.Method+" "+parameter.ReplaceAllString(r.Path, "{$1}")] = true
		}
	}
	for path, item := range s.contract.doc.Paths.Map() {
		for method := range item.Operations() {
			if !routes[method+" "+path] {
				t.Errorf("%s %s is documented, and there is no such route", method, path)
			}
			delete(routes, method+" "+path)
		}
	}
	for name := range routes {
		t.Errorf("%s is not documented", name)
	}
}
