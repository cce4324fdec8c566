package api_test

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/keys"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/redistest"
)

// limitOf gives a server the API's limit of 100 a minute, with a burst that a test can use
// up. The API's own is 200.
func limitOf(t *testing.T, burst int) func(*handlers.Config) {
	t.Helper()
	limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 100, Burst: burst, Keys: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *handlers.Config) { c.Limiter = limiter }
}

// limits checks the rate-limit headers.
func limits(a harness.Answer, remaining int, reset time.Time) {
	a.TB.Helper()
	h := a.Header()
	seconds := reset.Unix()
	if reset.Nanosecond() > 0 {
		seconds++
	}
	want := []string{"100", strconv.Itoa(remaining), strconv.FormatInt(seconds, 10)}
	for i, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if h.Get(name) != want[i] {
			a.TB.Errorf("%s: %s, want %s", name, h.Get(name), want[i])
		}
	}
}

// TestRateLimit follows an account through its limit (D30).
func TestRateLimit(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t, limitOf(t, 200))
	_, second, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator, keys.Params{Name: "Second"})
	h.OK(err)
	keys := []string{h.Account.TestKey, second} // both take from the account's one bucket
	for i := 1; i <= 200; i++ {
		a := h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions/" + unknownSession, Key: keys[i%2]}).
			WantStatus(http.StatusNotFound)
		left := 200 - i
		limits(a, max(left-100, 0), harness.StartTime.Add(time.Duration(i)*600*time.Millisecond))
	}
	a := h.Post("/sessions", harness.ValidBody).WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	limits(a, 0, harness.StartTime.Add(2*time.Minute))
	if a.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q, want 1", a.Header().Get("Retry-After"))
	}
	limits(h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions", Key: h.Account.LiveKey}).WantStatus(http.StatusOK), 99,
		harness.StartTime.Add(600*time.Millisecond))
	limits(h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions", Key: harness.NoKey}).WantStatus(http.StatusUnauthorized),
		99, harness.StartTime.Add(600*time.Millisecond))

	h.Clock.Advance(600 * time.Millisecond)
	limits(h.Get("/sessions").WantStatus(http.StatusOK), 0, harness.StartTime.Add(2*time.Minute+600*time.Millisecond))
	h.Get("/sessions").WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	h.Clock.Advance(time.Minute)
	limits(h.Get("/sessions").WantStatus(http.StatusOK), 0, h.Clock.Now().Add(101*600*time.Millisecond))
}

// TestRateLimitWithoutKey checks that requests without a valid key count by
// address, and that they can't use up a key's limit.
func TestRateLimitWithoutKey(t *testing.T) {
	t.Parallel()
	h := harness.New(t, limitOf(t, 8))
	from := func(address string, c harness.Call) harness.Answer {
		r := h.Request(c)
		r.RemoteAddr = address
		w := h.Serve(r)
		h.CheckContract(r, w)
		return harness.AnswerOf(t, w)
	}
	none := harness.Call{Method: http.MethodGet, Path: "/sessions", Key: harness.NoKey}
	wrong := harness.Call{Method: http.MethodGet, Path: "/sessions", Key: "candor_test_wrong"}
	unknownPath := harness.Call{Method: http.MethodGet, Path: "/nothing", Key: harness.NoKey}
	document := harness.Call{Method: http.MethodGet, Path: "/openapi.json", Key: harness.NoKey}
	const attacker = "192.0.2.1:1234"
	for range 2 {
		from(attacker, none).WantStatus(http.StatusUnauthorized)
		from(attacker, wrong).WantStatus(http.StatusUnauthorized)
		from(attacker, unknownPath).WantStatus(http.StatusNotFound)
		from("[::ffff:192.0.2.1]:99", document).WantStatus(http.StatusOK)
	}
	for _, c := range []harness.Call{none, wrong, unknownPath, document} {
		a := from(attacker, c).WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "")
		limits(a, 0, harness.StartTime.Add(8*600*time.Millisecond))
	}
	valid := harness.Call{Method: http.MethodGet, Path: "/sessions"}
	limits(from(attacker, valid).WantStatus(http.StatusOK), 7, harness.StartTime.Add(600*time.Millisecond))
	limits(from("192.0.2.2:1234", none).WantStatus(http.StatusUnauthorized), 7, harness.StartTime.Add(600*time.Millisecond))

	for range 8 {
		from("[2001:db8:1:2::1]:1", none).WantStatus(http.StatusUnauthorized)
	}
	from("[2001:db8:1:2:ffff::9]:1", none).WantStatus(http.StatusTooManyRequests)
	from("[2001:db8:1:3::1]:1", none).WantStatus(http.StatusUnauthorized)
}

// TestForwardedAddress checks whose word on the address is taken.
func TestForwardedAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		trusted []netip.Prefix
		refused bool // whether changing the forwarded address doesn't help
	}{
		"no proxy":      {nil, true},
		"trusted proxy": {[]netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, false},
		"another proxy": {[]netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, limitOf(t, 8), func(c *handlers.Config) { c.TrustedProxies = test.trusted })
			var last harness.Answer
			for i := range 9 {
				r := h.Request(harness.Call{Method: http.MethodGet, Path: "/sessions", Key: harness.NoKey,
					Header: "X-Forwarded-For: 203.0.113." + strconv.Itoa(i)})
				last = harness.AnswerOf(t, h.Serve(r))
			}
			if got := last.Code == http.StatusTooManyRequests; got != test.refused {
				t.Errorf("request 9 is answered %d", last.Code)
			}
		})
	}
}

// TestRetryAfter checks that the seconds are rounded up.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 1, Burst: 1, Keys: 10})
	if err != nil {
		t.Fatal(err)
	}
	h := harness.New(t, func(c *handlers.Config) { c.Limiter = limiter })
	h.Get("/sessions").WantStatus(http.StatusOK)
	h.Clock.Advance(200 * time.Millisecond)
	a := h.Get("/sessions").WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	if got := a.Header().Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After: %q, want 60", got)
	}
}

// TestRefusedClientsCostNoQuery closes the database under clients that are
// refused, and under others.
func TestRefusedClientsCostNoQuery(t *testing.T) {
	t.Parallel()
	h := harness.New(t, limitOf(t, 8))
	from := func(address, key string) harness.Answer {
		r := h.Request(harness.Call{Method: http.MethodGet, Path: "/sessions", Key: key})
		r.RemoteAddr = address + ":1234"
		return harness.AnswerOf(t, h.Serve(r))
	}
	unknown := func() string {
		_, text := domain.NewAPIKey(h.TestScope(), "Unknown", harness.StartTime)
		return text
	}
	const partner, attacker, office = "192.0.2.1", "192.0.2.2", "192.0.2.3"
	for range 8 {
		from(partner, h.Account.TestKey).WantStatus(http.StatusOK)
	}
	for i := range 16 {
		want := http.StatusUnauthorized
		if i >= 8 { // looked up still: one of them could be valid
			want = http.StatusTooManyRequests
		}
		from(attacker, unknown()).WantStatus(want)
	}
	for range 8 {
		from(office, harness.NoKey).WantStatus(http.StatusUnauthorized)
	}
	from(attacker, h.Account.LiveKey).WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	from(office, h.Account.LiveKey).WantStatus(http.StatusOK) // a network's bucket doesn't count for valid keys
	from(attacker, h.Account.LiveKey).WantStatus(http.StatusOK)

	h.OK(h.DB.Close())
	for _, refused := range []harness.Answer{from(partner, h.Account.TestKey), from(attacker, unknown())} {
		refused.WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "")
		limits(refused, 0, harness.StartTime.Add(8*600*time.Millisecond))
	}
	from(partner, h.Account.LiveKey).WantStatus(http.StatusInternalServerError)
	h.Clock.Advance(time.Second)
	from(partner, h.Account.TestKey).WantStatus(http.StatusInternalServerError)
	from(attacker, unknown()).WantStatus(http.StatusInternalServerError)
}

// TestRevokedKeyIsForgotten checks that a key that was valid lately is refused
// as revoked, and has no bucket of its own any more.
func TestRevokedKeyIsForgotten(t *testing.T) {
	t.Parallel()
	h := harness.New(t, limitOf(t, 8))
	row, key, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator, keys.Params{Name: "Second"})
	h.OK(err)
	call := harness.Call{Method: http.MethodGet, Path: "/sessions", Key: key}
	h.Do(call).WantStatus(http.StatusOK)
	h.OK(h.Service.Keys.Delete(h.Context(), h.TestScope(), harness.Operator, row.ID, "Second"))
	for range 8 {
		h.Do(call).WantError(http.StatusUnauthorized, "invalid_api_key", "")
	}
	h.Do(call).WantError(http.StatusTooManyRequests, "rate_limit_exceeded", "")
}

// unobserved is an Observer that does nothing.
type unobserved struct{}

func (unobserved) LimitsShared(bool) {}
func (unobserved) CountedAlone()     {}

// BenchmarkRateLimit measures a request whose limit is counted in memory and in
// Redis.
func BenchmarkRateLimit(b *testing.B) {
	endless := ratelimit.Config{PerMinute: 1_000_000_000, Burst: 1_000_000_000, Keys: 1000}
	redis, err := ratelimit.Dial(redistest.Start(b).URL, func(key string) string {
		return key
	}, unobserved{}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer redis.Close()
	for _, place := range []struct {
		name string
		*ratelimit.Redis
	}{{"memory", nil}, {"redis", redis}} {
		b.Run(place.name, func(b *testing.B) {
			limiter, err := place.Limiter("api", endless)
			if err != nil {
				b.Fatal(err)
			}
			h := harness.New(b, func(c *handlers.Config) { c.Limiter = limiter })
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				h.Get("/sessions/" + unknownSession).WantStatus(http.StatusNotFound)
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// A new session that waits with others for their statement leaves its place to the
// account's other requests (D88).
func TestSessionsThatShareAStatementHoldNoPlace(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.PlacesEach = 1 })
	id := h.NewSession(h.TestScope(), domain.NewSession{}).ID
	blocker := lockSessions(h, "SHARE") // for reading it is free
	var posts sync.WaitGroup
	for range 3 {
		posts.Go(func() { h.Post("/sessions", harness.ValidBody).WantStatus(http.StatusCreated) })
	}
	h.WaitForLock()
	h.Get("/sessions?limit=1").WantStatus(http.StatusOK)
	h.Get("/sessions/" + id.String()).WantStatus(http.StatusOK)
	h.OK(blocker.Rollback())
	posts.Wait()
}
