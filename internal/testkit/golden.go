package testkit

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files that hold what the code makes")

// Golden fails the test where got isn't what the file holds, and shows the difference.
// With -update it writes the file.
func Golden(t testing.TB, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if held, err := os.ReadFile(file); err == nil && bytes.Equal(held, got) {
		return
	}
	diff := exec.CommandContext(t.Context(), "diff", "-u", "--label", file, "--label", "what the code makes", file, "-")
	diff.Stdin = bytes.NewReader(got)
	shown, _ := diff.CombinedOutput() // it fails where the two differ
	t.Errorf("run the test with -update if this is meant:\n%s", shown)
}
