package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// person is what a person types, and what becomes of it.
type person struct {
	what  string
	name  string
	email string

	// Accepted, with what is kept: "" = as it was typed.
	keptName, keptEmail, key string
	// Refused, because of this field and with this code.
	field, code string
}

const ada, adaEmail = "Ada Lovelace", "ada@example.org"

func names() []person {
	refused := func(what, name, code string) person {
		return person{what: what, name: name, email: adaEmail, field: "name", code: code}
	}
	kept := func(what, name string) person { return person{what: what, name: name, email: adaEmail, key: adaEmail} }
	return []person{
		kept("one letter", "X"),
		kept("200 letters", strings.Repeat("x", 200)),
		kept("200 letters of four bytes", strings.Repeat("𝒜", 200)),
		{what: "200 letters within blanks", name: "  " + strings.Repeat("é", 200) + "\t\n", email: adaEmail, keptName: strings.Repeat("é", 200), key: adaEmail},
		kept("an apostrophe", "Sinéad O'Connor"),
		kept("quotes and a semicolon", `Robert"); DROP TABLE users;--`),
		kept("markup", `<script>alert("&amp;")</script>`),
		kept("a backslash and percent signs", `100%s \x41 \' %00`),
		kept("what a spreadsheet computes", "=1+1"),
		kept("letters not composed", "Zoe\u0308"),
		kept("right to left", "עדה לאבלייס"),
		kept("a family of joined signs", "👩‍👩‍👧"),
		kept("a joiner between letters", "می‌خواهم"),
		kept("a no-break space within", "Ada\u00a0Lovelace"),
		kept("only digits", "42"),
		kept("the word null", "null"),
		refused("nothing", "", "required"),
		refused("blanks", " \u00a0\u3000\t", "required"),
		refused("201 letters", strings.Repeat("x", 201), "too_long"),
		refused("201 letters of two bytes", strings.Repeat("é", 201), "too_long"),
		refused("a line break", "Ada\nBcc: eve@example.org", "forbidden_character"),
		refused("a carriage return", "Ada\rLovelace", "forbidden_character"),
		refused("a tab within", "Ada\tLovelace", "forbidden_character"),
		refused("a NUL", "Ada\x00Lovelace", "forbidden_character"),
		refused("an escape", "Ada\x1b[31m", "forbidden_character"),
		refused("a DEL", "Ada\x7f", "forbidden_character"),
		refused("a control character of Latin-1", "Ada\u009b31m", "forbidden_character"),
		refused("a line separator", "Ada\u2028Lovelace", "forbidden_character"),
		refused("a right-to-left override", "Ada\u202egpj.exe", "forbidden_character"),
		refused("an embedding", "\u202aAda\u202c", "forbidden_character"),
		refused("an isolate", "\u2067Ada\u2069", "forbidden_character"),
		refused("zero width alone", "\u200b\u200c\u200d\u2060\ufeff", "invisible"),
		refused("a combining mark alone", "\u0301", "invisible"),
		refused("direction marks alone", "\u200e\u200f\u061c", "invisible"),
		refused("fillers alone", "\u3164\u115f\u1160\uffa0", "invisible"),
		refused("a blank braille pattern alone", "\u2800", "invisible"),
	}
}

func addresses() []person {
	refused := func(what, email, code string) person {
		return person{what: what, name: ada, email: email, field: "email", code: code}
	}
	kept := func(what, email, key string) person { return person{what: what, name: ada, email: email, key: key} }
	label := strings.Repeat("d", 60)
	domain := func(length int) string { // of so many bytes
		d := strings.Repeat(label+".", 3)
		return d + strings.Repeat("e", length-len(d))
	}
	local := strings.Repeat("l", 64)
	return []person{
		kept("a plain one", "plain@example.org", "plain@example.org"),
		kept("a plus sign", "ada+a@example.org", "ada+a@example.org"),
		kept("another plus sign", "ada+b@example.org", "ada+b@example.org"),
		kept("dots", "a.d.a@example.org", "a.d.a@example.org"),
		kept("upper case", "Ada.UPPER@Example.ORG", "ada.upper@example.org"),
		{what: "blanks around it", name: ada, email: " \tBlank@example.org\n", keptEmail: "Blank@example.org", key: "blank@example.org"},
		kept("odd signs that are legal", "a!#$%&'*+/=?^_`{|}~-z@example.org", "a!#$%&'*+/=?^_`{|}~-z@example.org"),
		kept("an apostrophe", "o'connor@example.org", "o'connor@example.org"),
		kept("a domain with umlauts", "Ada@MÜLLER.example", "ada@xn--mller-kva.example"),
		kept("the same domain not composed", "ada@mu\u0308ller.example", "ada@xn--mller-kva.example"),
		kept("the same domain as an A-label", "ada@XN--MLLER-KVA.example", "ada@xn--mller-kva.example"),
		kept("a sharp s, which is a letter of its own", "ada@straße.example", "ada@xn--strae-oqa.example"),
		kept("a Chinese domain", "ada@例子.测试", "ada@xn--fsqu00a.xn--0zwm56d"),
		kept("an Arabic domain", "ada@مثال.إختبار", "ada@xn--mgbh0fb.xn--kgbechtv"),
		kept("a full-width dot", "ada@example。org", "ada@example.org"),
		kept("many labels", "ada@a.b.c.d.example", "ada@a.b.c.d.example"),
		kept("digits in the domain", "ada@123.example", "ada@123.example"),
		kept("a local part of 64 bytes", local+"@example.org", local+"@example.org"),
		kept("254 bytes", local+"@"+domain(189), local+"@"+domain(189)),
		refused("255 bytes", local+"@"+domain(190), "too_long"),
		refused("a local part of 65 bytes", local+"l@example.org", "too_long"),
		refused("253 bytes that are more as an A-label", local+"@"+domain(186)+".é", "too_long"),
		refused("3000 bytes", strings.Repeat("a", 3000)+"@example.org", "too_long"),
		refused("a label of 64 bytes", "ada@"+strings.Repeat("d", 64)+".org", "domain"),
		refused("nothing", "", "required"),
		refused("blanks", "  ", "required"),
		refused("no @", "ada.example.org", "form"),
		refused("an @ alone", "@", "form"),
		refused("nothing before the @", "@example.org", "form"),
		refused("nothing after the @", "ada@", "form"),
		refused("two @", "ada@home@example.org", "form"),
		refused("two @ in a row", "ada@@example.org", "form"),
		refused("no dot in the domain", "ada@localhost", "domain"),
		refused("a dot at the end", "ada@example.org.", "domain"),
		refused("a dot at the start of the domain", "ada@.example.org", "domain"),
		refused("two dots in the domain", "ada@example..org", "domain"),
		refused("a hyphen at the start of a label", "ada@-example.org", "domain"),
		refused("a hyphen at the end of a label", "ada@example-.org", "domain"),
		refused("an underscore in the domain", "ada@ex_ample.org", "domain"),
		refused("a broken A-label", "ada@xn--a.example", "domain"),
		refused("an emoji in the domain", "ada@💩.example\u0000", "forbidden_character"),
		refused("a dot at the start", ".ada@example.org", "local_part"),
		refused("a dot at the end of the local part", "ada.@example.org", "local_part"),
		refused("two dots", "a..da@example.org", "local_part"),
		refused("letters before the @", "müller@example.org", "local_part"),
		refused("zero width before the @", "ada\u200b@example.org", "forbidden_character"),
		refused("quotes", `"ada lovelace"@example.org`, "form"),
		refused("brackets", "<ada@example.org>", "form"),
		refused("a display name", "Ada <ada@example.org>", "form"),
		refused("a comment", "ada(work)@example.org", "form"),
		refused("two of them", "ada@example.org,eve@example.org", "form"),
		refused("a semicolon", "ada@example.org;eve@example.org", "form"),
		refused("a blank within", "ada lovelace@example.org", "form"),
		refused("a scheme", "mailto:ada@example.org", "form"),
		refused("an address literal", "ada@[127.0.0.1]", "form"),
		refused("an IPv6 literal", "ada@[IPv6:::1]", "form"),
		refused("a bare IP address", "ada@127.0.0.1", "domain"),
		refused("a number for a top level", "ada@example.123", "domain"),
		refused("a line break", "ada@example.org\r\nBcc: eve@example.org", "forbidden_character"),
		refused("a NUL", "ada\x00@example.org", "forbidden_character"),
		refused("a right-to-left override", "ada@\u202eexample.org", "forbidden_character"),
	}
}

func TestPerson(t *testing.T) {
	t.Parallel()
	s := start(t, place{})
	s.addRun("go-1", nil)
	accepted := make(map[string]string) // id → what must be kept, in hexadecimal
	for kind, people := range map[string][]person{"a name of ": names(), "an address with ": addresses()} {
		for _, p := range people {
			t.Run(kind+p.what, func(t *testing.T) {
				c := s.asking("go-1", p.name, p.email)
				c.bad = p.field != ""
				a := s.do(c)
				a.t = t
				if p.field != "" {
					if got := a.expectProblem(http.StatusUnprocessableEntity, "invalid", p.field); len(got.Errors) != 1 || got.Errors[0].Code != p.code {
						t.Errorf("got %+v, want %s", got.Errors, p.code)
					}
					return
				}
				a.expect(http.StatusAccepted)
				if p.keptName == "" {
					p.keptName = p.name
				}
				if p.keptEmail == "" {
					p.keptEmail = p.email
				}
				accepted[a.registration().ID.String()] = fmt.Sprintf("%x %x %x", p.keptName, p.keptEmail, p.key)
			})
		}
	}
	for _, line := range s.sql(`
		SELECT concat_ws(' ', id, encode(convert_to(name, 'UTF8'), 'hex'), encode(convert_to(email, 'UTF8'), 'hex'), encode(convert_to(email_key, 'UTF8'), 'hex'))
		FROM requests`) {
		id, kept, _ := strings.Cut(line, " ")
		if want := accepted[id]; kept != want {
			t.Errorf("kept is\n%s\nwant\n%s", kept, want)
		}
		delete(accepted, id)
	}
	if len(accepted) > 0 {
		t.Errorf("not kept at all: %v", accepted)
	}
	// All of it can be decided: one seat for each key, nothing left.
	s.settle()
	if got := s.sql(`SELECT email FROM requests WHERE status = 'queued'`); len(got) > 0 {
		t.Errorf("undecided: %q", got)
	}
	if got := s.sql(`SELECT email_key FROM requests GROUP BY email_key HAVING count(*) FILTER (WHERE status = 'confirmed') <> 1`); len(got) > 0 {
		t.Errorf("not one seat each: %q", got)
	}
}
