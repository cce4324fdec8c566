package form_test

import (
	"testing"
	"time"

	"candor/internal/form"
)

func TestDaysAsStaffNameThem(t *testing.T) {
	t.Parallel()
	today := time.Date(2026, time.November, 25, 0, 0, 0, 0, time.UTC) // a Wednesday
	for text, want := range map[string]string{
		"today": "2026-11-25", "Yesterday": "2026-11-24", " 3 days ago ": "2026-11-22", "1 week ago": "2026-11-18",
		"monday": "2026-11-23", "Wed": "2026-11-25", "Thursday": "2026-11-19", "mond": "",
		"last 7 days": "2026-11-19/2026-11-25", "last 2 weeks": "2026-11-12/2026-11-25", "last week": "2026-11-16/2026-11-22",
		"this week":  "2026-11-23/2026-11-29",
		"last month": "2026-10-01/2026-10-31", "This month": "2026-11-01/2026-11-30", "last year": "2025-01-01/2025-12-31",
		"this year":  "2026-01-01/2026-12-31",
		"2026-11-23": "2026-11-23", "23/11/2026": "2026-11-23", "23.11.2026": "2026-11-23", "23 Nov 2026": "2026-11-23",
		"Nov 23, 2026": "2026-11-23", "23rd november 2026": "2026-11-23",
		"23 Nov": "2026-11-23", "Nov 23": "2026-11-23", "23/11": "2026-11-23", "26 Nov": "2025-11-26", "25 November": "2026-11-25",
		"29 Feb": "2024-02-29", "3 Sept": "2026-09-03",
		"November": "2026-11-01/2026-11-30", "dec": "2025-12-01/2025-12-31", "Nov 2026": "2026-11-01/2026-11-30",
		"2026-02": "2026-02-01/2026-02-28", "1 Jan 2027": "2027-01-01",
		"": "", "soon": "", "31 Feb": "", "2026-13-01": "", "31/11/2026": "", "23/11/26": "", "0 days ago": "", "last 0 days": "",
		"last 99999 days": "", "last decade": "",
		"last": "", "7": "", "days": "", "ago": "", "2026": "", "week ago": "", "last days 7": "", "1 2 3 4": "", "23 23": "",
		"Nov Nov": "", "ma 1": "", "٣ Nov": "",
		"today <script>": "", "99999999999999999999 Nov": "", "0 Nov": "", "0000-00-00": "",
	} {
		first, last, ok := form.ParseDays(text, today)
		got := ""
		if ok {
			if got = first.Format(time.DateOnly); !last.Equal(first) {
				got += "/" + last.Format(time.DateOnly)
			}
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func FuzzParseDays(f *testing.F) {
	for _, seed := range []string{"last week", "23 Nov", "2026-11-23", "Nov 2026", "3 days ago"} {
		f.Add(seed)
	}
	today := time.Date(2024, time.February, 29, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		first, last, ok := form.ParseDays(text, today)
		if ok && (last.Before(first) || first.IsZero() || first.Hour() != 0) {
			t.Errorf("%q is %s to %s", text, first, last)
		}
	})
}
