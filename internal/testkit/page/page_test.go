package page_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"candor/internal/testkit/page"
)

const markup = `<!doctype html><html lang="vi"><head><title>The  window</title><link rel="stylesheet" href="/static/a.css"><style>.x{}</style></head><body>
<nav><a href="/live" aria-current="true">Live</a><a href="/test" aria-current="false">Test</a></nav>
<div role="alert"><ul><li><a href="#name">Enter a name</a></li></ul></div><div role="status">Saved</div>
<p>A <b>bold</b><i>italic</i>&lt;script&gt;<script>var hidden</script></p><p hidden>hidden</p><img src="/logo/x.png" alt="A logo">
<table><thead><tr><th>When</th></tr></thead><tbody><tr><th scope="row">One</th><td>1 <em>a</em></td></tr></tbody></table>
<dl><dt>Sum</dt><dd>$5</dd><dd>of 6</dd><dt>Rest</dt><dd>$1</dd></dl>
<form action="/send"><input type="hidden" name="token" value="t1">
<label for="name">Name</label><p id="name-hint">In full</p><p id="name-error">Enter a name</p>
<input id="name" name="who" value="Jo &amp; Co" aria-describedby="name-hint name-error" aria-invalid="true" autofocus>
<label for="list">List</label><select id="list" name="list"><option value="">Select</option><option value="b" selected>Bee</option></select>
<fieldset><legend>Size</legend><label><input type="radio" name="size" value="s">Small</label><label><input type="radio" name="size" value="l" checked>Large</label></fieldset>
<label><input type="checkbox" name="also" value="x" checked>X</label><label><input type="checkbox" name="also" value="y" checked>Y</label>
<textarea name="note" aria-label="Note">two
lines</textarea><pre id="key">abc</pre><button data-copy="key">Copy</button><button aria-label="Delete Jo" formaction="/gone">×</button><button disabled>Off</button>
</form></body></html>`

func TestPage(t *testing.T) {
	t.Parallel()
	p := page.Read(t, markup)
	p.Shows("A bolditalic<script>", "A logo", "Jo & Co", "Bee Size Small Large").Hides("Select ", "var  hidden")
	p.LeadsTo("/live", "/send", "/gone").Offers("Live", "Name", "who", "Size", "Note", "Delete Jo", "Copy").
		Lacks("×", "Off", "Unknown")
	p.WantField("Name", "Jo & Co").WantField("token", "t1").WantField("List", "b").WantField("Size", "l").
		WantField("Note", "two\nlines").WantError("name", "Enter")
	for what, pair := range map[string][2]any{
		"title": {p.Title(), "The window"}, "language": {p.Lang(), "vi"}, "status": {p.Status(), "Saved"},
		"current": {p.Current(), []string{"Live"}},
		"files":   {p.Loads("/"), []string{"/static/a.css", "/logo/x.png"}}, "addresses": {p.Leads("/l"), []string{"/live"}},
		"link": {p.Link("Test"), "/test"},
		"rows": {p.Rows(), [][]string{{"One", "1 a"}}}, "fact": {p.Fact("Sum"), "$5 of 6"}, "copied": {p.Copies("Copy"), "abc"},
		"alt":       {p.All("img")[0].Attr("alt"), "A logo"},
		"described": {p.Field("Name").Description, "In full Enter a name"}, "invalid": {p.Field("Name").Invalid, true},
		"focused": {p.Field("who").Focused, true},
		"choices": {p.Field("size").Choices, []string{"s", "l"}}, "ticked": {p.Field("also").Values, []string{"x", "y"}},
		"one box": {p.Field("Y").Choices, []string{"y"}},
	} {
		if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
	if text := p.Text(); strings.Contains(text, "hidden") || strings.Contains(text, "t1") || strings.Contains(text, "  ") {
		t.Errorf("the text has what isn't seen, or gaps: %s", text)
	}
}

// failing counts errors in place of a test.
type failing struct {
	testing.TB
	errors int
}

func (f *failing) Helper()               {}
func (f *failing) Errorf(string, ...any) { f.errors++ }
func (f *failing) Fatalf(string, ...any) { f.errors++; panic(f) }

// Each of these must fail its test.
func TestPageFails(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*page.Page){
		"text":           func(p *page.Page) { p.Shows("nowhere") },
		"option":         func(p *page.Page) { p.Shows("Select") },
		"script":         func(p *page.Page) { p.Shows("var hidden") },
		"hides text":     func(p *page.Page) { p.Hides("Jo & Co") },
		"hides markup":   func(p *page.Page) { p.Hides("var hidden") },
		"offers":         func(p *page.Page) { p.Offers("Off") },
		"lacks":          func(p *page.Page) { p.Lacks("Size") },
		"leads":          func(p *page.Page) { p.LeadsTo("/static/a.css") },
		"link":           func(p *page.Page) { p.Link("Name") },
		"fact":           func(p *page.Page) { p.Fact("Difference") },
		"copies":         func(p *page.Page) { p.Copies("Delete Jo") },
		"value":          func(p *page.Page) { p.WantField("Name", "Jo") },
		"no field":       func(p *page.Page) { p.Field("Age") },
		"two fields":     func(p *page.Page) { page.Read(p.TB, `<input name="a" value="1"><input name="a" value="2">`).Field("a") },
		"other error":    func(p *page.Page) { p.WantError("name", "Choose") },
		"no error":       func(p *page.Page) { p.WantError("list", "") },
		"error to where": func(p *page.Page) { page.Read(p.TB, `<p role="alert"><a href="#gone">Wrong</a>`).Errors() },
	}
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		f := &failing{TB: t}
		func() {
			defer func() { _ = recover() }()
			tests[name](page.Read(f, markup))
		}()
		if f.errors == 0 {
			t.Errorf("%s passes", name)
		}
	}
}
