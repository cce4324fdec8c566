package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"candor/internal/testkit"
)

// axeRules are WCAG 2.2 A and AA and axe's best practices.
var axeRules = []string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"}

type axeViolation struct {
	ID      string `json:"id"`
	Impact  string `json:"impact"`
	Help    string `json:"help"`
	HelpURL string `json:"helpUrl"`
	Nodes   []struct {
		HTML    string `json:"html"`
		Target  []any  `json:"target"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// LookRules are those of axe's rules whose result depends on the scheme or the width: a
// page that was checked whole in one look is checked by them in another.
var LookRules = []string{"color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"}

// TextRules are those of axe's rules whose result depends on the page's words: a page that
// was checked whole in one language is checked by them in another.
var TextRules = []string{"aria-command-name", "aria-input-field-name", "aria-toggle-field-name", "button-name", "document-title",
	"empty-heading", "html-has-lang", "html-lang-valid", "image-alt", "image-redundant-alt", "input-button-name", "label",
	"label-content-name-mismatch", "landmark-unique", "link-name", "select-name", "summary-name", "valid-lang"}

// Axe fails the test with a list of every accessibility violation axe-core
// finds in the page as it stands, by these of its rules, or by all.
func (tab *Tab) Axe(rules ...string) {
	tab.t.Helper()
	for _, v := range tab.axeViolations(rules) {
		tab.t.Error(v.describe())
	}
}

func (tab *Tab) axeViolations(rules []string) []axeViolation {
	tab.t.Helper()
	if tab.options.NoScript {
		tab.t.Fatal("browsertest: axe needs script, which is off in this tab")
	}
	tab.loadAxe()
	if len(rules) == 0 {
		rules = axeRules
	}
	options, err := json.Marshal(map[string]any{"runOnly": rules, "resultTypes": []string{"violations"}})
	if err != nil {
		tab.t.Fatalf("browsertest: %v", err)
	}
	return Eval[[]axeViolation](tab, fmt.Sprintf("axe.run(document, %s).then((r) => r.violations)", options))
}

// axeSource is half a megabyte of script.
var axeSource = sync.OnceValues(func() (string, error) {
	root, err := testkit.ModuleRoot()
	if err != nil {
		return "", err
	}
	source, err := os.ReadFile(filepath.Join(root, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return "", fmt.Errorf("axe-core is missing, run `npm ci --ignore-scripts`: %w", err)
	}
	return string(source) + "; Boolean(window.axe)", nil
})

// loadAxe has axe-core in the document and those to come: Chromium compiles a script that
// a tab keeps once, which takes half as long as a run of it.
func (tab *Tab) loadAxe() {
	tab.t.Helper()
	if Eval[bool](tab, "Boolean(window.axe)") {
		return
	}
	source, err := axeSource()
	if err != nil {
		tab.t.Fatalf("browsertest: %v", err)
	}
	tab.Before(source)
	if !Eval[bool](tab, source) {
		tab.t.Fatal("browsertest: axe-core doesn't load")
	}
}

// UniqueIDs fails the test where two elements have one id, which axe doesn't
// look for: a label is of the first of them, whatever that is.
func (tab *Tab) UniqueIDs() {
	tab.t.Helper()
	twice := Eval[[]string](tab,
		`[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i)`)
	if len(twice) > 0 {
		tab.t.Errorf("ids used twice: %q", twice)
	}
}

func (v axeViolation) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "axe: %s (%s, %s) %s", v.Help, v.ID, v.Impact, v.HelpURL)
	for _, n := range v.Nodes {
		fmt.Fprintf(&b, "\n  at %v: %s\n    %s", n.Target, n.HTML, strings.ReplaceAll(n.Summary, "\n", "\n    "))
	}
	return b.String()
}
