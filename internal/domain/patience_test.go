package domain_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"candor/internal/domain"
)

// left is how much of its patience a context has.
func left(ctx context.Context) time.Duration {
	ctx, end := domain.Patiently(ctx)
	defer end()
	deadline, _ := ctx.Deadline()
	return time.Until(deadline)
}

// use uses the database until its patience ends, or for a while.
func use(ctx context.Context, t *testing.T, while time.Duration) {
	t.Helper()
	patient, end := domain.Patiently(ctx)
	defer end()
	_, inner := domain.Patiently(ctx) // as a statement of a transaction
	defer inner()
	select {
	case <-patient.Done():
	case <-time.After(while):
	}
	if ctx.Err() != nil {
		t.Error("the request itself has ended")
	}
}

// TestPatience: what a request spends on one use of the database is missing for the next,
// what it spends elsewhere isn't, and an answer that is streamed begins again.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testPatience)
}

func testPatience(t *testing.T) {
	const limit = 300 * time.Millisecond
	plain := t.Context()
	if ctx, end := domain.Patiently(plain); ctx != plain || domain.HasPatience(plain) {
		end()
		t.Error("work that is no request has a bound")
	}
	ctx := domain.WithPatience(plain, limit)
	use(ctx, t, limit/3)
	if got := left(ctx); got > limit*2/3 || got < 0 {
		t.Errorf("after a third %s are left of %s", got, limit)
	}
	use(ctx, t, time.Minute)
	if got := left(ctx); got > 0 {
		t.Errorf("after all of it %s are left", got)
	}
	each := domain.WithPatienceForEach(ctx)
	for range 2 {
		if got := left(each); got < limit/2 {
			t.Errorf("a part of a stream has %s of %s", got, limit)
		}
		use(each, t, time.Minute)
	}
}
