package handlers_test

import (
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/keys"
)

// standardLimit gives a server the API's limit.
func standardLimit(t *testing.T) func(*handlers.Config) {
	t.Helper()
	limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 100, Burst: 200, Keys: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *handlers.Config) { c.Limiter = limiter }
}

// limits checks the rate-limit headers.
func (a answer) limits(remaining int, reset time.Time) {
	a.t.Helper()
	h := a.Header()
	seconds := reset.Unix()
	if reset.Nanosecond() > 0 {
		seconds++
	}
	want := []string{"100", strconv.Itoa(remaining), strconv.FormatInt(seconds, 10)}
	for i, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
		if h.Get(name) != want[i] {
			a.t.Errorf("%s: %s, want %s", name, h.Get(name), want[i])
		}
	}
}

// TestRateLimit follows an account through its limit (D30).
func TestRateLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, standardLimit(t))
	_, second, err := b.service.Keys.Create(b.Context(), b.testScope(), someone, keys.Params{Name: "Second"})
	b.ok(err)
	keys := []string{b.account.TestKey, second} // both take from the account's one bucket
	for i := 1; i <= 200; i++ {
		a := b.call(apiCall{method: http.MethodGet, path: "/sessions/" + unknownSession, key: keys[i%2]}).status(http.StatusNotFound)
		left := 200 - i
		a.limits(min(left, 100), startTime.Add(time.Duration(max(0, 100-left))*600*time.Millisecond))
	}
	a := b.post("/sessions", validBody).refused(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	a.limits(0, startTime.Add(time.Minute))
	if a.Header().Get("Retry-After") != "1" {
		t.Errorf("Retry-After: %q, want 1", a.Header().Get("Retry-After"))
	}
	b.call(apiCall{method: http.MethodGet, path: "/sessions", key: b.account.LiveKey}).status(http.StatusOK).limits(100, startTime)
	b.call(apiCall{method: http.MethodGet, path: "/sessions", key: anonymous}).status(http.StatusUnauthorized).limits(100, startTime)

	b.clock.advance(600 * time.Millisecond)
	b.get("/sessions").status(http.StatusOK).limits(0, startTime.Add(time.Minute+600*time.Millisecond))
	b.get("/sessions").refused(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	b.clock.advance(time.Minute)
	b.get("/sessions").status(http.StatusOK).limits(99, b.clock.Now().Add(600*time.Millisecond))
}

// TestRateLimitWithoutKey checks that requests without a valid key count by
// address, and that they can't use up a key's limit.
func TestRateLimitWithoutKey(t *testing.T) {
	t.Parallel()
	b := newBench(t, standardLimit(t))
	from := func(address string, c apiCall) answer {
		r := b.request(c)
		r.RemoteAddr = address
		w := b.serve(r)
		b.checkResponse(r, w)
		return answer{t, w}
	}
	none := apiCall{method: http.MethodGet, path: "/sessions", key: anonymous}
	wrong := apiCall{method: http.MethodGet, path: "/sessions", key: "candor_test_wrong"}
	unknownPath := apiCall{method: http.MethodGet, path: "/nothing", key: anonymous}
	document := apiCall{method: http.MethodGet, path: "/openapi.json", key: anonymous}
	const attacker = "192.0.2.1:1234"
	for range 50 {
		from(attacker, none).status(http.StatusUnauthorized)
		from(attacker, wrong).status(http.StatusUnauthorized)
		from(attacker, unknownPath).status(http.StatusNotFound)
		from("[::ffff:192.0.2.1]:99", document).status(http.StatusOK)
	}
	for _, c := range []apiCall{none, wrong, unknownPath, document} {
		a := from(attacker, c).refused(http.StatusTooManyRequests, "rate_limit_exceeded", "")
		a.limits(0, startTime.Add(time.Minute))
	}
	valid := apiCall{method: http.MethodGet, path: "/sessions"}
	from(attacker, valid).status(http.StatusOK).limits(100, startTime)
	from("192.0.2.2:1234", none).status(http.StatusUnauthorized).limits(100, startTime)

	for range 200 {
		from("[2001:db8:1:2::1]:1", none).status(http.StatusUnauthorized)
	}
	from("[2001:db8:1:2:ffff::9]:1", none).status(http.StatusTooManyRequests)
	from("[2001:db8:1:3::1]:1", none).status(http.StatusUnauthorized)
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
			b := newBench(t, standardLimit(t), func(c *handlers.Config) { c.TrustedProxies = test.trusted })
			var last answer
			for i := range 201 {
				r := b.request(apiCall{method: http.MethodGet, path: "/sessions", key: anonymous, header: "X-Forwarded-For: 203.0.113." + strconv.Itoa(i)})
				last = answer{t, b.serve(r)}
			}
			if got := last.Code == http.StatusTooManyRequests; got != test.refused {
				t.Errorf("request 201 is answered %d", last.Code)
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
	b := newBench(t, func(c *handlers.Config) { c.Limiter = limiter })
	b.get("/sessions").status(http.StatusOK)
	b.clock.advance(200 * time.Millisecond)
	a := b.get("/sessions").refused(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	if got := a.Header().Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After: %q, want 60", got)
	}
}

// TestRefusedClientsCostNoQuery closes the database under clients that are
// refused, and under others.
func TestRefusedClientsCostNoQuery(t *testing.T) {
	t.Parallel()
	b := newBench(t, standardLimit(t))
	from := func(address, key string) answer {
		r := b.request(apiCall{method: http.MethodGet, path: "/sessions", key: key})
		r.RemoteAddr = address + ":1234"
		return answer{t, b.serve(r)}
	}
	unknown := func() string {
		_, text := domain.NewAPIKey(b.testScope(), "Unknown", startTime)
		return text
	}
	const partner, attacker, office = "192.0.2.1", "192.0.2.2", "192.0.2.3"
	for range 200 {
		from(partner, b.account.TestKey).status(http.StatusOK)
	}
	for i := range 400 {
		want := http.StatusUnauthorized
		if i >= 200 { // looked up still: one of them could be valid
			want = http.StatusTooManyRequests
		}
		from(attacker, unknown()).status(want)
	}
	for range 200 {
		from(office, anonymous).status(http.StatusUnauthorized)
	}
	from(attacker, b.account.LiveKey).refused(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	from(office, b.account.LiveKey).status(http.StatusOK) // a network's bucket doesn't count for valid keys
	from(attacker, b.account.LiveKey).status(http.StatusOK)

	b.ok(b.db.Close())
	refused := from(partner, b.account.TestKey).refused(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	refused.limits(0, startTime.Add(time.Minute))
	refused = from(attacker, unknown()).refused(http.StatusTooManyRequests, "rate_limit_exceeded", "")
	refused.limits(0, startTime.Add(time.Minute))
	from(partner, b.account.LiveKey).status(http.StatusInternalServerError)
	b.clock.advance(time.Second)
	from(partner, b.account.TestKey).status(http.StatusInternalServerError)
	from(attacker, unknown()).status(http.StatusInternalServerError)
}

// TestRevokedKeyIsForgotten checks that a key that was valid lately is refused
// as revoked, and has no bucket of its own any more.
func TestRevokedKeyIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t, standardLimit(t))
	row, key, err := b.service.Keys.Create(b.Context(), b.testScope(), someone, keys.Params{Name: "Second"})
	b.ok(err)
	call := apiCall{method: http.MethodGet, path: "/sessions", key: key}
	b.call(call).status(http.StatusOK)
	b.ok(b.service.Keys.Delete(b.Context(), b.testScope(), someone, row.ID, "Second"))
	for range 200 {
		b.call(call).refused(http.StatusUnauthorized, "invalid_api_key", "")
	}
	b.call(call).refused(http.StatusTooManyRequests, "rate_limit_exceeded", "")
}
