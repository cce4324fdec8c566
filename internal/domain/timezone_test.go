package domain

import (
	"testing"
	"time"
)

func TestTimeZonesLoad(t *testing.T) {
	t.Parallel()
	for _, name := range TimeZones {
		if zone, err := time.LoadLocation(name); err != nil || LoadTimeZone(name).String() != zone.String() {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "Local", "Australia/Nowhere", "../../etc/passwd"} {
		if KnownTimeZone(name) || LoadTimeZone(name) != time.UTC {
			t.Errorf("%q is a time zone", name)
		}
	}
}

func TestStartOfDay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, zone, at string
		days           int
		want           string
	}{
		{"summer time", "Australia/Sydney", "2026-11-22T03:00:00Z", 0, "2026-11-21T13:00:00Z"},
		{"late in UTC's day, early in the zone's", "Australia/Sydney", "2026-11-21T13:00:00Z", 0, "2026-11-21T13:00:00Z"},
		{"clocks put forward: 23 hours", "Australia/Sydney", "2026-10-04T00:00:00Z", 1, "2026-10-04T13:00:00Z"},
		{"the day before they are", "Australia/Sydney", "2026-10-04T00:00:00Z", 0, "2026-10-03T14:00:00Z"},
		{"clocks put back: 25 hours", "Australia/Sydney", "2027-04-04T02:00:00Z", 1, "2027-04-04T14:00:00Z"},
		{"half an hour", "Australia/Adelaide", "2026-07-01T14:29:00Z", 0, "2026-06-30T14:30:00Z"},
		{"across a month, back", "Australia/Perth", "2026-03-01T00:00:00Z", -1, "2026-02-27T16:00:00Z"},
		{"west of UTC", "America/New_York", "2026-11-22T03:00:00Z", 0, "2026-11-21T05:00:00Z"},
		{"midnight is skipped", "America/Santiago", "2026-09-06T12:00:00Z", 0, "2026-09-06T04:00:00Z"},
		{"midnight comes twice", "America/Havana", "2026-11-01T12:00:00Z", 0, "2026-11-01T04:00:00Z"},
		{"UTC", "UTC", "2026-11-22T23:59:59Z", 1, "2026-11-23T00:00:00Z"},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := StartOfDay(at, LoadTimeZone(tt.zone), tt.days).Format(time.RFC3339); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
