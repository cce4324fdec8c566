package domain_test

import (
	"crypto/sha256"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
)

func TestNewAPIKey(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for _, live := range []bool{false, true} {
		scope := domain.Scope{AccountID: domain.NewAccountID(), Livemode: live}
		key, text := domain.NewAPIKey(scope, "First key", now)
		prefix := map[bool]string{false: "candor_test_", true: "candor_live_"}[live]
		if !strings.HasPrefix(text, prefix) || len(text) != len(prefix)+32+6 || !domain.WellFormedAPIKey(text) {
			t.Errorf("key %q: want %s, 32 random characters and a checksum of 6", text, prefix)
		}
		if key.Hash != sha256.Sum256([]byte(text)) || key.Last4 != text[len(text)-4:] || key.Livemode != live ||
			key.AccountID != scope.AccountID || key.Permissions != nil || key.ExpiresAt != nil || !key.CreatedAt.Equal(now) {
			t.Errorf("what is kept of %s is %+v", text, key)
		}
	}
	_, a := domain.NewAPIKey(domain.Scope{}, "", now)
	_, b := domain.NewAPIKey(domain.Scope{}, "", now)
	if a == b {
		t.Error("two keys are the same")
	}
}

func TestWellFormedAPIKey(t *testing.T) {
	t.Parallel()
	// The checksum of a fixed key: CRC-32 (IEEE) of the text before it, in
	// base62 with digits first.
	const key = "candor_test_00000000000000000000000000000000"
	if !domain.WellFormedAPIKey(key + fixedChecksum) {
		t.Errorf("%s%s is refused", key, fixedChecksum)
	}
	_, text := domain.NewAPIKey(domain.Scope{Livemode: true}, "", time.Now())
	for i := range text {
		for _, c := range "0aZ_" {
			typo := text[:i] + string(c) + text[i+1:]
			if typo != text && domain.WellFormedAPIKey(typo) {
				t.Errorf("%s with a mistyped character %d is taken", text, i)
			}
		}
	}
	for _, bad := range []string{"", "candor_live_", text[1:], text[:len(text)-1], text + "0", " " + text, text + "\n",
		strings.ToUpper(text),
		strings.Replace(text, "live", "test", 1), text + strings.Repeat("0", 1000)} {
		if domain.WellFormedAPIKey(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}

const fixedChecksum = "3thCu2"

func FuzzWellFormedAPIKey(f *testing.F) {
	_, text := domain.NewAPIKey(domain.Scope{}, "", time.Now())
	f.Add(text, 20)
	f.Add("candor_test_\xff", 0)
	f.Fuzz(func(t *testing.T, s string, at int) {
		if domain.WellFormedAPIKey(s) && (len(s) < len("candor_test_")+38 || strings.ContainsAny(s, " \n\x00-")) {
			t.Errorf("%q is taken", s)
		}
		// A single changed character never passes.
		if domain.WellFormedAPIKey(s) && at >= 0 && at < len(s) {
			other := []byte(s)
			other[at] ^= 1
			if domain.WellFormedAPIKey(string(other)) {
				t.Errorf("%q and %q are both taken", s, other)
			}
		}
	})
}

func TestPermissionsAllow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		have domain.Permissions
		want domain.Permission
		ok   bool
	}{
		{nil, domain.BillingRead, true},
		{domain.Permissions{}, domain.SessionsRead, false},
		{domain.Permissions{domain.SessionsRead}, domain.SessionsRead, true},
		{domain.Permissions{domain.SessionsRead}, domain.SessionsWrite, false},
	}
	for _, tt := range tests {
		if got := tt.have.Allow(tt.want); got != tt.ok {
			t.Errorf("%v allow %s = %v, want %v", tt.have, tt.want, got, tt.ok)
		}
	}
}
