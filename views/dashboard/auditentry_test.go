package dashboard

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"candor/internal/domain"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	ctx := WithTime(t.Context(), domain.LoadTimeZone("Australia/Sydney"), time.Time{})
	for _, tt := range []struct {
		before, after string
		want          []string
	}{
		{`{"role":"support"}`, `{"role":"owner"}`, []string{"role: support → owner"}},
		{`{"url":""}`, `{"url":"https://a.example"}`, []string{"url: https://a.example"}},
		{`{"help_phone":"1300"}`, `{"help_phone":null}`, []string{"help phone: 1300 → none"}},
		{``, `{"permissions":["sessions:read","data:read"]}`, []string{"permissions: sessions:read, data:read"}},
		{`{"expires_at":"2026-11-20T03:04:05Z"}`, `{"expires_at":"2026-12-20T03:04:05Z"}`,
			[]string{"expires at: 20 Nov 2026, 2:04 pm → 20 Dec 2026, 2:04 pm"}},
		{`{"days":14}`, `{"days":14}`, nil},
		{`"no object"`, ``, nil},
	} {
		e := &domain.AuditEntry{Before: json.RawMessage(tt.before), After: json.RawMessage(tt.after)}
		if got := changes(ctx, e); !slices.Equal(got, tt.want) {
			t.Errorf("from %s to %s: %q, want %q", tt.before, tt.after, got, tt.want)
		}
	}
}
