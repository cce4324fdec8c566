package requestlog_test

import (
	"log/slog"
	"sync"
	"testing"

	"candor/internal/domain"
	"candor/internal/service/requestlog"
	"candor/internal/testkit"
	"candor/internal/testkit/servicetest"
)

// fixture is the fixture of this package's tests.
type fixture struct{ *servicetest.Fixture }

func newFixture(t testing.TB, change ...func(*servicetest.Config)) *fixture {
	t.Helper()
	return &fixture{servicetest.NewFixture(t, change...)}
}

// unlogged counts what a log didn't write.
type unlogged struct {
	sync.Mutex
	n map[string]int
}

func (u *unlogged) add(why string, n int) {
	u.Lock()
	defer u.Unlock()
	u.n[why] += n
}

func (u *unlogged) count(why string) int {
	u.Lock()
	defer u.Unlock()
	return u.n[why]
}

func newRequestLog(b *fixture) (*requestlog.Writer, *unlogged) {
	lost := &unlogged{n: map[string]int{}}
	return requestlog.NewWriter(b.DB, slog.New(slog.DiscardHandler), lost.add), lost
}

func (b *fixture) requests() (n int) {
	b.Helper()
	b.OK(b.DB.Raw().GetContext(b.Ctx, &n, "SELECT count(*) FROM api_request"))
	return n
}

func aRequest() domain.APIRequest {
	return domain.APIRequest{ID: domain.NewRequestID(servicetest.Start)}
}

// While the database is stuck no request waits for it: what there is no room for is
// counted, and what there is room for is written once it can be, at the latest
// at the end.
func TestRequestLogOverflows(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	log, lost := newRequestLog(b)
	stuck, err := b.DB.Raw().BeginTxx(b.Ctx, nil)
	b.OK(err)
	_, err = stuck.ExecContext(b.Ctx, "LOCK TABLE api_request IN ACCESS EXCLUSIVE MODE")
	b.OK(err)
	const n = 50_000
	for range n {
		log.Add(aRequest())
	}
	b.OK(stuck.Rollback())
	log.Close()
	if full, written := lost.count(domain.UnloggedFull), b.requests(); full == 0 || written < 20_000 || full+written != n {
		t.Errorf("of %d requests %d written, %d counted as lost: %v", n, written, full, lost.n)
	}
}

func TestRequestLogWrites(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newFixture(t)
	log, lost := newRequestLog(b)
	log.Add(aRequest())
	testkit.Await(t, "it is written by itself", func() bool { return b.requests() > 0 })
	log.Flush(b.Ctx)
	_, err := b.DB.Raw().ExecContext(b.Ctx, "ALTER TABLE api_request RENAME TO away")
	b.OK(err)
	log.Add(aRequest())
	log.Add(aRequest())
	log.Flush(b.Ctx)
	_, err = b.DB.Raw().ExecContext(b.Ctx, "ALTER TABLE away RENAME TO api_request")
	b.OK(err)
	if n := lost.count(domain.UnloggedFailed); n != 2 {
		t.Errorf("%d counted as failed, want 2", n)
	}
	log.Add(aRequest())
	log.Close()
	if n := b.requests(); n != 2 {
		t.Errorf("%d written after a failure and at the end, want 2", n)
	}
}

// A key that stays beyond its limit doesn't fill the log; others are
// logged all the same.
func TestRequestLogBoundsRefusals(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	log, lost := newRequestLog(b)
	refused := aRequest()
	refused.ErrorCode = domain.CodeRateLimitExceeded
	const n = 1000
	for range n {
		refused.ID = domain.NewRequestID(servicetest.Start)
		log.Add(refused)
	}
	log.Add(aRequest())
	log.Close()
	// Time for a write may come among these.
	if written, limited := b.requests(), lost.count(domain.UnloggedLimited); written < 11 || written > 21 || written+limited != n+1 {
		t.Errorf("%d written, %d counted", written, limited)
	}
}
