package domain_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
)

// A constant is one value of a string type of this package.
type constant struct{ name, value string }

var constantLine = regexp.MustCompile(`(?m)^\t(\w+)\s+(\w+)\s+= "([^"]*)"`)

// constants returns this package's constants by the name of their type.
func constants(t *testing.T) map[string][]constant {
	t.Helper()
	out := map[string][]constant{}
	for _, text := range sources(t, ".") {
		for _, match := range constantLine.FindAllStringSubmatch(text, -1) {
			out[match[2]] = append(out[match[2]], constant{match[1], match[3]})
		}
	}
	return out
}

// sources returns the text of the product's Go files below a folder by path,
// without tests and tools.
func sources(t *testing.T, folder string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"node_modules", ".git", "tools"}, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, value := range list {
		out[i] = string(value)
	}
	return out
}

// TestTablesAreComplete compares the constants of each type with its list. A
// constant that is not listed has no status, words or schema.
func TestTablesAreComplete(t *testing.T) {
	t.Parallel()
	var codes []string
	for _, info := range domain.CodeTable {
		codes = append(codes, string(info.Code))
	}
	all := constants(t)
	for name, list := range map[string][]string{
		"Code":               codes,
		"EventType":          texts(domain.EventTypes),
		"Permission":         texts(domain.AllPermissions),
		"AuditAction":        texts(domain.AuditActions),
		"Role":               texts(domain.Roles),
		"Capability":         texts(domain.Capabilities),
		"Status":             texts(domain.Statuses),
		"DeliveryState":      texts(domain.DeliveryStates),
		"SubscriptionStatus": domain.SubscriptionStatus("").Enum(),
	} {
		var declared []string
		for _, c := range all[name] {
			declared = append(declared, c.value)
			if !slices.Contains(list, c.value) {
				t.Errorf("%s is not in the list of %s", c.name, name)
			}
		}
		for i, value := range list {
			if !slices.Contains(declared, value) || slices.Contains(list[:i], value) {
				t.Errorf("%s lists %q twice or without a constant", name, value)
			}
		}
	}
}

// TestConstantsAreUsed finds error codes and audit actions that are declared
// and described, and that nothing uses.
func TestConstantsAreUsed(t *testing.T) {
	t.Parallel()
	uses := map[string]int{}
	word := regexp.MustCompile(`\b(Code|Audit)[A-Z]\w+`)
	for _, text := range sources(t, "../..") {
		for _, name := range word.FindAllString(text, -1) {
			uses[name]++
		}
	}
	all := constants(t)
	for _, c := range slices.Concat(all["Code"], all["AuditAction"]) {
		const declaredAndDescribed = 2
		if uses[c.name] <= declaredAndDescribed {
			t.Errorf("nothing uses %s", c.name)
		}
	}
}

// TestCodesAreDescribed checks that each error code has a status and a meaning.
func TestCodesAreDescribed(t *testing.T) {
	t.Parallel()
	for _, info := range domain.CodeTable {
		if info.Status < 200 || info.Status > 599 || !strings.HasSuffix(info.Meaning, ".") {
			t.Errorf("%s has status %d and meaning %q", info.Code, info.Status, info.Meaning)
		}
		if !strings.HasSuffix(info.Remedy, ".") {
			t.Errorf("%s has the remedy %q", info.Code, info.Remedy)
		}
		if info.Code.Info() != info {
			t.Errorf("%s has two rows", info.Code)
		}
	}
	if got := domain.Code("no_such_code").Status(); got != 0 {
		t.Errorf("an unknown code has status %d", got)
	}
}

// TestWords checks that each permission, role and audit action has words, and
// that no two actions share them: the filter of the audit log couldn't tell them
// apart.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, info := range domain.PermissionTable {
		if info.Words == "" {
			t.Errorf("%s has no words", info.Permission)
		}
	}
	for _, info := range domain.RoleTable {
		if info.Name == "" || len(info.Rights()) < 10 || !slices.Contains(info.May, domain.UseDashboard) {
			t.Errorf("%s has name %q, words %q and may do %s", info.Role, info.Name, info.Rights(), info.May)
		}
	}
	said := map[string]domain.AuditAction{}
	for _, info := range domain.AuditTable {
		if other, twice := said[info.Words]; twice || info.Words == "" {
			t.Errorf("%s has the words %q, those of %q", info.Action, info.Words, other)
		}
		said[info.Words] = info.Action
	}
	if got := domain.AuditAction("staff.sneezed").Words(); got != "staff.sneezed" {
		t.Errorf("an unknown action has the words %q, want its name", got)
	}
}

// TestEventsAreDescribed checks that each event type has a payload of its own,
// a description of every field, an example without gaps, and words.
func TestEventsAreDescribed(t *testing.T) {
	t.Parallel()
	described := map[string]bool{"ErasedPayload": true} // replaces the data of any session event
	for _, info := range domain.EventTable {
		if info.Summary == "" || info.When == "" || info.AboutSession() == (info.Words == "") {
			t.Errorf("%s has summary %q, when %q and words %q", info.Type, info.Summary, info.When, info.Words)
		}
		if info.Example.Event != info.Type {
			t.Errorf("the example of %s is one of %s", info.Type, info.Example.Event)
		}
		payload := reflect.TypeOf(info.Example.Data)
		if described[payload.Name()] {
			t.Errorf("%s: %s belongs to another event", info.Type, payload)
		}
		described[payload.Name()] = true
		value := reflect.ValueOf(info.Example.Data)
		for i := range payload.NumField() {
			if f := payload.Field(i); f.Tag.Get("doc") == "" || f.Tag.Get("json") == "" || value.Field(i).IsZero() {
				t.Errorf("%s.%s needs json and doc tags and a value in the example", payload, f.Name)
			}
		}
	}
	for _, text := range sources(t, ".") {
		for _, match := range regexp.MustCompile(`(?m)^func \((\w+)\) eventType\(\)`).FindAllStringSubmatch(text, -1) {
			if !described[match[1]] {
				t.Errorf("no row of EventTable has %s", match[1])
			}
		}
	}
}
