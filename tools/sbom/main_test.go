package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// The test builds a small program of this module with two dependencies. The service
// takes minutes to build on a slow machine.
const program = `package main

import (
	_ "github.com/google/uuid"
	_ "golang.org/x/text/width"
)

func main() {}
`

func TestBillOfMaterialsNamesEveryComponent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, binary, out := filepath.Join(dir, "main.go"), filepath.Join(dir, "program"), filepath.Join(dir, "bom.json")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, source).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	if err := run(binary, "../../package-lock.json", "1.2.3", out); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var b bom
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	checkDocument(t, b)
	if c := b.Metadata.Component; c.Name != "candor" || c.Version != "1.2.3" || c.Type != "application" {
		t.Errorf("the service is %+v", c)
	}
	for _, want := range []string{`^pkg:golang/std@1\.`, `^pkg:golang/github\.com/google/uuid@v1\.`,
		`^pkg:golang/golang\.org/x/text@v0\.`, `^pkg:npm/htmx\.org@4\.`} {
		if !slices.ContainsFunc(b.Components, func(c component) bool { return regexp.MustCompile(want).MatchString(c.PURL) }) {
			t.Errorf("no component matches %s:\n%s", want, text)
		}
	}
	for _, c := range b.Components {
		if c.Name == "esbuild" || c.Name == "axe-core" {
			t.Errorf("%s builds or tests the service and is not part of it", c.Name)
		}
		if c.Name == "htmx.org" && len(c.Licenses) != 1 {
			t.Errorf("%s has licences %v", c.Name, c.Licenses)
		}
	}
}

// checkDocument checks what CycloneDX 1.6 requires of each object, and that
// references are unique and name a component.
func checkDocument(t *testing.T, b bom) {
	t.Helper()
	if b.Format != "CycloneDX" || b.SpecVersion != "1.6" || b.Version < 1 {
		t.Errorf("the document is %s %s, version %d", b.Format, b.SpecVersion, b.Version)
	}
	refs := map[string]bool{}
	for _, c := range append([]component{b.Metadata.Component}, b.Components...) {
		if c.Ref == "" || c.Name == "" || c.Version == "" || (c.Type != "library" && c.Type != "application") {
			t.Errorf("the component %+v lacks a required field", c)
		}
		if c.Type == "library" && !regexp.MustCompile(`^pkg:(golang|npm)/[\w./%~-]+@[\w.%+-]+$`).MatchString(c.PURL) {
			t.Errorf("%q is not a package URL", c.PURL)
		}
		if refs[c.Ref] {
			t.Errorf("two components have the reference %s", c.Ref)
		}
		refs[c.Ref] = true
	}
	for _, d := range b.Dependencies {
		for _, ref := range append(d.DependsOn, d.Ref) {
			if !refs[ref] {
				t.Errorf("a dependency names %s, which is no component", ref)
			}
		}
	}
}
