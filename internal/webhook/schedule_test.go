package webhook

import (
	"testing"
	"time"
)

func TestDefaultScheduleIsTheContracts(t *testing.T) {
	t.Parallel()
	parsed, err := ParseSchedule("0s, 1m,5m,30m,2h,8h,24h")
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseSchedule(DefaultSchedule().String())
	if err != nil {
		t.Fatal(err)
	}
	want := []time.Duration{0, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 8 * time.Hour, 24 * time.Hour}
	for name, schedule := range map[string]Schedule{"default": DefaultSchedule(), "parsed": parsed, "printed": again} {
		if schedule.Attempts() != MaxAttempts {
			t.Errorf("%s: %d attempts, want %d", name, schedule.Attempts(), MaxAttempts)
		}
		for failed, delay := range want {
			if got, more := schedule.Next(failed); got != delay || !more {
				t.Errorf("%s: Next(%d) = %s, %t, want %s, true", name, failed, got, more, delay)
			}
		}
		for _, failed := range []int{7, 8, 100} {
			if got, more := schedule.Next(failed); got != 0 || more {
				t.Errorf("%s: Next(%d) = %s, %t, want the end", name, failed, got, more)
			}
		}
		if got, more := schedule.Next(-1); got != 0 || !more {
			t.Errorf("%s: Next(-1) = %s, %t, want the first attempt", name, got, more)
		}
	}
}

func TestParseScheduleRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "0s,", "0s,5", "0s,-1m", "0s,tomorrow", "1s,1s,1s,1s,1s,1s,1s,1s"} {
		if schedule, err := ParseSchedule(text); err == nil {
			t.Errorf("ParseSchedule(%q) = %v, want an error", text, schedule)
		}
	}
}

// Retry-After moves an attempt later, never earlier than the schedule, and at most
// to the time of the schedule's last attempt.
func TestNextAfter(t *testing.T) {
	t.Parallel()
	schedule, err := ParseSchedule("0s,1m,5m,30m")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		failed           int
		retryAfter, want time.Duration
		more             bool
	}{
		{1, 0, time.Minute, true},
		{1, 10 * time.Second, time.Minute, true},
		{1, 2 * time.Minute, 2 * time.Minute, true},
		{1, 24 * time.Hour, 36 * time.Minute, true},
		{2, 24 * time.Hour, 35 * time.Minute, true},
		{3, 24 * time.Hour, 30 * time.Minute, true},
		{4, time.Minute, 0, false},
	}
	for _, test := range tests {
		if got, more := schedule.NextAfter(test.failed, test.retryAfter); got != test.want || more != test.more {
			t.Errorf("after %d failures and Retry-After %s: %s, %v; want %s, %v", test.failed, test.retryAfter, got, more,
				test.want, test.more)
		}
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]time.Duration{200: 0, 301: 0, 429: time.Minute, 500: 0, 503: time.Minute} {
		if got := (Result{StatusCode: status, RetryAfter: time.Minute}).Wait(); got != want {
			t.Errorf("status %d: wait %s, want %s", status, got, want)
		}
	}
}
