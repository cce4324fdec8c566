package main

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candor/handlers/api"
	"candor/internal/form"
	"candor/internal/testkit"
	"candor/views/dashboard"
)

var (
	rule = regexp.MustCompile(`form\.Rule\{\w.*?[,}]|form\.RuleCode\b|(?:[Rr]ule|broken\w*|missing)\.Code = .*`)
	code = regexp.MustCompile(`^form\.Rule\{Code: (?:"(\w+)"|form\.Rule(\w+))[,}]$`)

	// Files whose rules clients and operators meet, but not the dashboard.
	ofAPI = []string{"handlers/api/billing.go", "handlers/api/describe.go", "handlers/api/sessions.go",
		"internal/domain/newsession.go", "internal/service/accounts/account.go", "internal/service/billing/usage.go",
		"internal/service/simulator/advance.go", "internal/service/simulator/customer.go", "internal/service/simulator/event.go",
		"internal/service/simulator/simulator.go",
		"internal/service/webhooks/event.go", "internal/statement/prefill.go"}
	// Each front end cleans text and makes sessions.
	ofBoth = []form.RuleCode{form.RuleReadable, form.RuleOneLine, form.RuleMaxLength, form.RuleEmail, form.RuleRange,
		form.RuleNoLink, "language", "event_type", "event_types", "endpoint_count", "note_controls", "note_lines", "previous_missing",
		"previous_erased", "previous_customer", "previous_name",
		"previous_open"}
	named = map[string]form.RuleCode{"NoLink": form.RuleNoLink, "Email": form.RuleEmail, "Range": form.RuleRange,
		"MaxLength": form.RuleMaxLength, "Given": form.RuleGiven}
)

// TestEveryRuleIsWorded checks that each front end has a sentence for each rule
// that its use cases can break, and no other.
func TestEveryRuleIsWorded(t *testing.T) {
	t.Parallel()
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	broken := map[bool]map[form.RuleCode]bool{true: {}, false: {}} // by whether the API words it
	for _, r := range ofBoth {
		broken[true][r], broken[false][r] = true, true
	}
	broken[true][form.RuleGiven] = true // of package form: clients give prefill
	for _, dir := range []string{"handlers/api", "internal/domain", "internal/service", "internal/statement"} {
		err := fs.WalkDir(os.DirFS(root), dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "handlers/api/wording.go" {
				return err
			}
			content, err := fs.ReadFile(os.DirFS(root), path)
			// The form's documents are worded by internal/statement, and translated.
			if strings.Contains(string(content), "domain.FieldError(") && strings.HasPrefix(path, "internal/") &&
				path != "internal/service/forms/document.go" {
				t.Errorf("%s words an error: use domain.Breaks", path)
			}
			for _, found := range rule.FindAllString(string(content), -1) {
				match := code.FindStringSubmatch(found)
				if match == nil {
					t.Errorf(`%s has %q: write form.Rule{Code: "…"}, which this test can read`, path, found)
					continue
				}
				is := form.RuleCode(match[1])
				if match[2] != "" {
					is = named[match[2]]
				}
				broken[slices.Contains(ofAPI, path)][is] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	delete(broken[false], "unfinished") // the customer's form shows its sections again
	for isAPI, words := range map[bool]form.Words{true: api.Words, false: dashboard.Words} {
		for r := range broken[isAPI] {
			if words.Rules[r] == "" {
				t.Errorf("no sentence for %q (API: %t)", r, isAPI)
			}
		}
		for r := range words.Rules {
			if !broken[isAPI][r] {
				t.Errorf("nothing breaks %q (API: %t)", r, isAPI)
			}
		}
	}
}
