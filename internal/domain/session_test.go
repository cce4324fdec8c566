package domain_test

import (
	"errors"
	"testing"
	"time"

	"candor/internal/domain"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestStatusAtAndConflict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		stored  domain.Status
		expires time.Duration // from now
		want    domain.Status
		code    domain.Code // "" for none
	}{
		{domain.Pending, 1, domain.Pending, ""},
		{domain.InProgress, 1, domain.InProgress, ""},
		{domain.Pending, 0, domain.Expired, domain.CodeSessionExpired},
		{domain.InProgress, -1, domain.Expired, domain.CodeSessionExpired},
		{domain.Expired, -1, domain.Expired, domain.CodeSessionExpired},
		{domain.Completed, -1, domain.Completed, domain.CodeSessionCompleted},
		{domain.Cancelled, -1, domain.Cancelled, domain.CodeSessionCancelled},
	}
	for _, tt := range tests {
		s := &domain.Session{Status: tt.stored, ExpiresAt: noon.Add(tt.expires)}
		if got := s.StatusAt(noon); got != tt.want {
			t.Errorf("%s expiring in %d ns is %s, want %s", tt.stored, tt.expires, got, tt.want)
		}
		err := s.Conflict(noon)
		if tt.code == "" && err != nil || tt.code != "" && !errors.Is(err, &domain.Error{Code: tt.code}) {
			t.Errorf("%s expiring in %d ns conflicts by %v, want %q", tt.stored, tt.expires, err, tt.code)
		}
	}
}

func TestDurationMinutes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		took time.Duration
		want int
	}{
		{0, 0}, {29*time.Second + 999*time.Millisecond, 0}, {30 * time.Second, 1}, {89 * time.Second, 1}, {90 * time.Second, 2},
		{time.Hour, 60}, {90*24*time.Hour - time.Millisecond, 129600},
	}
	for _, tt := range tests {
		completed := noon.Add(tt.took)
		s := &domain.Session{AccessedAt: &noon, CompletedAt: &completed}
		if got := s.DurationMinutes(); got != tt.want {
			t.Errorf("%s is %d minutes, want %d", tt.took, got, tt.want)
		}
	}
	if got := (&domain.Session{CompletedAt: &noon}).DurationMinutes(); got != 0 {
		t.Errorf("without an opening: %d minutes, want 0", got)
	}
}

func TestRetained(t *testing.T) {
	t.Parallel()
	completed := noon.Add(-domain.Retention)
	s := &domain.Session{CompletedAt: &completed}
	for days, account := range map[int]*domain.Account{90: {RetentionDays: 90}, 1: {RetentionDays: 1}} {
		end := completed.Add(time.Duration(days) * 24 * time.Hour)
		if s.Retained(end, account.Retention()) || !s.Retained(end.Add(-1), account.Retention()) {
			t.Errorf("retention doesn't end %d days after completion", days)
		}
	}
	s.ErasedAt = &noon
	if s.Retained(noon.Add(-1), domain.Retention) || (&domain.Session{}).Retained(noon, domain.Retention) {
		t.Error("an erased or unfinished session is retained")
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	sydney := time.FixedZone("AEDT", 11*3600)
	clock := domain.Clock(func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, sydney) })
	if got, want := clock.Now(), time.Date(2026, 1, 1, 16, 4, 5, 678e6, time.UTC); got != want {
		t.Errorf("the clock says %v, want %v", got, want)
	}
}
