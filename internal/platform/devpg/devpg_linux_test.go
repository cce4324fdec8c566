package devpg

import (
	"testing"

	"candor/internal/testkit"
)

func TestServerDiesWithItsStarter(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	starter := helper(t, dir)
	s := start(t, dir, Options{})
	if s.Started() {
		t.Fatal("the helper's server was not reused")
	}
	kill(t, starter)
	testkit.Await(t, "the server ends after kill -9 of its starter", func() bool { return !answers(s) })
	if again := start(t, dir, Options{}); !again.Started() {
		t.Error("Start right after it did not start a server")
	}
}
