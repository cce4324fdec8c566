package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

// The program has neither the tools (benchmarks, attacks, soak test) nor what
// tests use. It has internal/demo, for candor demo seed.
func TestProgramHasNoToolsAndNoTestPackages(t *testing.T) {
	t.Parallel()
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for p := range strings.FieldsSeq(string(list)) {
		if !strings.HasPrefix(p, "candor/") {
			continue // River brings test packages of its own
		}
		ours++
		if strings.HasPrefix(p, "candor/tools/") || strings.HasPrefix(p, "candor/internal/testkit/") || strings.HasSuffix(p, "test") {
			t.Errorf("candor has the package %s", p)
		}
	}
	if ours < 20 {
		t.Errorf("go list -deps shows %d packages of Candor, want all", ours)
	}
}
