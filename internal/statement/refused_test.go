package statement_test

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
)

// odd are texts that some field refuses, or that were once changed on their way.
func odd() []string {
	return []string{
		"Ann\x00", "1\x0050", "a\tb", "a\u2028b", "\x00", "a\xffb", "so\x02le", "preset\x00",
		strings.Repeat("7", 101), strings.Repeat("é", 501), strings.Repeat("x", 3000),
		" \u200b ", "\u202eexe", "1,50", "31",
	}
}

// TestPagesAndScriptsAreRefusedAlike puts each odd text into each input of each section. A
// script's post, a page's, one that waited as a draft, and one of a page that has lost a
// response have the same errors, and the page has what was typed.
func TestPagesAndScriptsAreRefusedAlike(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	for _, name := range statement.SectionNames {
		if name == statement.DocumentsSection {
			continue
		}
		blank := func() *form.Section { return new(statement.Statement).Section(name, statementtest.Now()) }
		valid := blank()
		if errs := valid.Decode(statementtest.Values(name)); len(errs) > 0 {
			t.Fatalf("%s: %v", name, errs)
		}
		stored := valid.Inputs()
		for input := range stored {
			if input == form.HasInput || strings.HasSuffix(input, ".version") {
				continue
			}
			for _, text := range odd() {
				typed := maps.Clone(stored)
				typed.Set(input, text)
				checkPaths(t, blank, fmt.Sprintf("%s: %s = %.20q", name, input, text), input, typed, stored)
			}
		}
	}
}

func checkPaths(t *testing.T, blank func() *form.Section, what, input string, typed, stored url.Values) {
	t.Helper()
	script := blank()
	want := script.Decode(typed)
	merged := form.Merge(blank, form.Edit{Ours: typed, Bases: []url.Values{stored}}, stored)
	again := form.Merge(blank, form.Edit{Ours: typed, Bases: []url.Values{stored, typed}}, stored)
	waited := blank()
	waited.Read(merged.Store)
	for path, values := range map[string]url.Values{"page": merged.Store, "page that lost a response": again.Store,
		"draft": waited.Inputs()} {
		page := blank()
		if got := page.Decode(values); !slices.Equal(got, want) {
			t.Errorf("%s: %s has the errors %v, want %v", what, path, got, want)
		}
	}
	if refused := strings.TrimSpace(typed.Get(input)); len(want) > 0 && merged.Store.Get(input) != script.Inputs().Get(input) &&
		merged.Store.Get(input) != refused {
		t.Errorf("%s: the page has %.20q", what, merged.Store.Get(input))
	}
}
