package jobs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// Of several workers, one leads and inserts the periodic jobs.
func TestPeriodicJobsDontPileUp(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	began := time.Now()
	for range 3 {
		h.start(sweeping)
	}
	const kinds = "kind IN ('session_expiry', 'stranded_work')"
	testkit.Await(h, "ten runs", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE "+kinds+" AND state = 'completed'") >= 20
	})
	runs, most := h.Count("SELECT count(*) FROM river_job WHERE "+kinds), 2*int(time.Since(began)/(100*time.Millisecond)+3)
	if runs > most {
		t.Errorf("%d runs in %s, want at most %d", runs, time.Since(began), most)
	}
	testkit.Await(h, "no backlog", func() bool { return h.Count("SELECT count(*) FROM river_job WHERE state = 'available'") <= 2 })
	if n := h.Count("SELECT count(*) FROM river_job WHERE state IN ('discarded', 'retryable') OR errors IS NOT NULL"); n != 0 {
		t.Errorf("%d runs failed", n)
	}
}

// A lost job is inserted again.
func TestStrandedWork(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	long := hooktest.Now().Add(-2 * time.Minute)
	s, done := h.Session(hook.URL, long), h.completed("", long)
	h.Tx(func(tx *db.Tx) error {
		return h.Outbox.SessionEvent(h.Ctx, tx, s, hooktest.SectionCompleted(s, 1), long)
	})
	_, err := h.DB.Raw().ExecContext(h.Ctx, "DELETE FROM river_job")
	h.OK(err)
	h.start(sweeping)
	h.Delivery(s, domain.DeliveryDelivered)
	testkit.Await(h, "the PDF", func() bool { return len(h.Events(done, domain.SessionPDFReady)) == 1 })
	if n := len(hook.Requests()); n != 1 {
		t.Errorf("%d webhooks, want 1", n)
	}
}

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
