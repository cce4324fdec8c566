package intake_test

import (
	"errors"
	"testing"
	"time"

	"candor/intake"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestStatusAtAndConflict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		stored  intake.Status
		expires time.Duration // from now
		want    intake.Status
		code    intake.Code // "" for none
	}{
		{intake.Pending, 1, intake.Pending, ""},
		{intake.InProgress, 1, intake.InProgress, ""},
		{intake.Pending, 0, intake.Expired, intake.CodeSessionExpired},
		{intake.InProgress, -1, intake.Expired, intake.CodeSessionExpired},
		{intake.Expired, -1, intake.Expired, intake.CodeSessionExpired},
		{intake.Completed, -1, intake.Completed, intake.CodeSessionCompleted},
		{intake.Cancelled, -1, intake.Cancelled, intake.CodeSessionCancelled},
	}
	for _, tt := range tests {
		s := &intake.Session{Status: tt.stored, ExpiresAt: noon.Add(tt.expires)}
		if got := s.StatusAt(noon); got != tt.want {
			t.Errorf("%s expiring in %d ns is %s, want %s", tt.stored, tt.expires, got, tt.want)
		}
		err := s.Conflict(noon)
		if tt.code == "" && err != nil || tt.code != "" && !errors.Is(err, &intake.Error{Code: tt.code}) {
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
		s := &intake.Session{AccessedAt: &noon, CompletedAt: &completed}
		if got := s.DurationMinutes(); got != tt.want {
			t.Errorf("%s is %d minutes, want %d", tt.took, got, tt.want)
		}
	}
	if got := (&intake.Session{CompletedAt: &noon}).DurationMinutes(); got != 0 {
		t.Errorf("without an opening: %d minutes, want 0", got)
	}
}

func TestRetained(t *testing.T) {
	t.Parallel()
	completed := noon.Add(-intake.Retention)
	s := &intake.Session{CompletedAt: &completed}
	for days, account := range map[int]*intake.Account{90: {RetentionDays: 90}, 1: {RetentionDays: 1}} {
		end := completed.Add(time.Duration(days) * 24 * time.Hour)
		if s.Retained(end, account.Retention()) || !s.Retained(end.Add(-1), account.Retention()) {
			t.Errorf("retention doesn't end %d days after completion", days)
		}
	}
	s.ErasedAt = &noon
	if s.Retained(noon.Add(-1), intake.Retention) || (&intake.Session{}).Retained(noon, intake.Retention) {
		t.Error("an erased or unfinished session is retained")
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	sydney := time.FixedZone("AEDT", 11*3600)
	clock := intake.Clock(func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, sydney) })
	if got, want := clock.Now(), time.Date(2026, 1, 1, 16, 4, 5, 678e6, time.UTC); got != want {
		t.Errorf("the clock says %v, want %v", got, want)
	}
}
