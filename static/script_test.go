package static

import (
	"os/exec"
	"path/filepath"
	"testing"

	"candor/internal/testkit"
)

// TestScripts runs the scripts' own tests by Node.js, which js/testing.mjs makes a browser.
func TestScripts(t *testing.T) {
	t.Parallel()
	testkit.Slow(t) // and test-fast needs no Node.js
	tests, err := filepath.Glob("js/*.test.mjs")
	if err != nil || len(tests) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	node := exec.CommandContext(t.Context(), "node", append([]string{"--test", "--test-reporter=spec"}, tests...)...)
	if out, err := node.CombinedOutput(); err != nil {
		t.Errorf("node --test: %v\n%s", err, out)
	}
}
