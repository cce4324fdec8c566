package jobs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryJobHasAWorker compares the kinds of jobs with the workers that
// workers adds. River only logs a job that has none.
func TestEveryJobHasAWorker(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") {
			source.Write(text)
		}
	}
	worker := map[string]string{}
	workers := regexp.MustCompile(`(?s)type (\w+) struct \{\n\t(?:river\.WorkerDefaults|upkeepWorker|emailWorker)\[(\w+)\]`)
	for _, match := range workers.FindAllStringSubmatch(source.String(), -1) {
		worker[match[2]] = match[1]
	}
	kinds := regexp.MustCompile(`(?m)^func \(?(?:\w+ )?(\w+)\) Kind\(\) string`).FindAllStringSubmatch(source.String(), -1)
	if len(kinds) < 5 {
		t.Fatalf("found only %d jobs: are they written in another way now?", len(kinds))
	}
	for _, match := range kinds {
		args := match[1]
		if worker[args] == "" || !strings.Contains(source.String(), "river.AddWorker(all, &"+worker[args]+"{") {
			t.Errorf("%s has no worker that workers adds", args)
		}
	}
}
