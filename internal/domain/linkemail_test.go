package domain_test

import (
	"testing"
	"time"

	"candor/internal/domain"
)

// TestInDaytime: no reminder comes from 20 to 8 o’clock where the customer lives, also on
// the days on which clocks change (D104).
func TestInDaytime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ zone, at, want string }{
		{"Australia/Sydney", "2026-11-20T08:00:00+11:00", "2026-11-20T08:00:00+11:00"},
		{"Australia/Sydney", "2026-11-20T07:59:59+11:00", "2026-11-20T08:00:00+11:00"},
		{"Australia/Sydney", "2026-11-20T19:59:59+11:00", "2026-11-20T19:59:59+11:00"},
		{"Australia/Sydney", "2026-11-20T20:00:00+11:00", "2026-11-21T08:00:00+11:00"},
		{"Australia/Sydney", "2026-12-31T23:00:00+11:00", "2027-01-01T08:00:00+11:00"},
		{"Australia/Sydney", "2026-10-03T22:00:00+10:00", "2026-10-04T08:00:00+11:00"},
		{"Australia/Perth", "2026-11-20T10:00:00+11:00", "2026-11-20T08:00:00+08:00"},
	} {
		zone, err := time.LoadLocation(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.Parse(time.RFC3339, tt.at)
		want, _ := time.Parse(time.RFC3339, tt.want)
		if got := domain.InDaytime(at, zone); !got.Equal(want) {
			t.Errorf("%s in %s: %s, want %s", tt.at, tt.zone, got.In(zone), want)
		}
	}
}

// TestNextReminder: of several reminders that are due the one that says most is sent, a day
// after any other, and none after the last (D104).
func TestNextReminder(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC)
	day := func(n float64) time.Time { return start.Add(time.Duration(n * float64(24*time.Hour))) }
	type email struct {
		kind  domain.LinkEmailKind
		state domain.LinkEmailState
		day   float64
	}
	sent := func(kind domain.LinkEmailKind, day float64) email { return email{kind, domain.LinkSent, day} }
	link := sent(domain.LinkItself, 0)
	for name, tt := range map[string]struct {
		emails []email
		active float64 // the last activity; 0 if it isn't opened
		ends   float64
		now    float64
		want   domain.LinkEmailKind
		at     float64
	}{
		"not opened":                         {[]email{link}, 0, 30, 0.1, domain.LinkUnopened1, 2},
		"not opened, again":                  {[]email{link, sent(domain.LinkUnopened1, 2)}, 0, 30, 3, domain.LinkUnopened2, 7},
		"the workers were down":              {[]email{link}, 0, 30, 8, domain.LinkUnopened2, 7},
		"after that":                         {[]email{link, sent(domain.LinkUnopened2, 8)}, 0, 30, 9, domain.LinkEnding, 28},
		"begun":                              {[]email{link}, 0.5, 30, 1, domain.LinkUnfinished1, 1.5},
		"begun after a reminder":             {[]email{link, sent(domain.LinkUnopened1, 2)}, 2.1, 30, 2.2, domain.LinkUnfinished1, 3.1},
		"begun just before a reminder":       {[]email{link, sent(domain.LinkUnopened1, 2)}, 1.9, 30, 2.95, domain.LinkUnfinished1, 3},
		"worked on after a reminder":         {[]email{link, sent(domain.LinkUnfinished1, 2)}, 5, 30, 5.1, domain.LinkUnfinished2, 9},
		"ends soon":                          {[]email{link}, 0, 4, 2.1, domain.LinkEnding, 2},
		"ends before another would be sent":  {[]email{link}, 0, 3, 0.1, domain.LinkEnding, 1},
		"ends a day after it was sent":       {[]email{link}, 0, 1, 0.1, domain.LinkEnding, 1},
		"the last was sent":                  {[]email{link, sent(domain.LinkEnding, 2)}, 0, 4, 3.5, "", 0},
		"the link couldn’t be delivered":     {[]email{{domain.LinkItself, domain.LinkFailed, 0}}, 0, 30, 3, "", 0},
		"it isn’t known whether it was sent": {[]email{{domain.LinkItself, domain.LinkUnknown, 0}}, 0, 30, 3, domain.LinkUnopened1, 2},
		"a reminder couldn’t be delivered":   {[]email{link, {domain.LinkUnopened1, domain.LinkFailed, 2}}, 0, 30, 8, "", 0},
	} {
		d := &domain.LinkDelivery{Remind: true}
		for _, e := range tt.emails {
			ended := day(e.day)
			d.Emails = append(d.Emails, domain.LinkEmail{Kind: e.kind, State: e.state, EndedAt: &ended})
		}
		s := &domain.Session{Status: domain.Pending, ExpiresAt: day(tt.ends)}
		if tt.active > 0 {
			active := day(tt.active)
			s.Status, s.LastActivityAt = domain.InProgress, &active
		}
		kind, at := d.Next(s, day(tt.now))
		if kind != tt.want || kind != "" && !at.Equal(day(tt.at)) {
			t.Errorf("%s: %q on day %.2f, want %q on day %.2f", name, kind, at.Sub(start).Hours()/24, tt.want, tt.at)
		}
		look := d.LookAt(s, day(tt.now))
		if (look == nil) != (tt.want == "") || look != nil && look.After(day(tt.now+1)) {
			t.Errorf("%s: the next look is at %v", name, look)
		}
	}
}

// TestReasons: the mail server's codes say what was refused (RFC 3463), and no more.
func TestReasons(t *testing.T) {
	t.Parallel()
	const (
		missing = "The mail server says that this address doesn’t exist"
		full    = "The customer’s mailbox is full"
		rules   = "The mail server refuses the email by its rules"
		refused = "The mail server refuses the email"
	)
	for problem, want := range map[string]string{
		"550 5.1.1": missing, "550": missing, "553": missing, "550 5.1.10": missing,
		"550 5.1.7": refused, "550 5.1.8": refused, "550 to the email": refused, "553 to the sender": refused, "554": refused,
		"552 5.2.2": full, "550 5.2.2": full, "552": full, "552 to the email": full,
		"552 5.3.4": refused, "552 5.7.0": rules, "554 5.7.1": rules,
	} {
		e := &domain.LinkEmail{State: domain.LinkFailed, Problem: problem}
		if got := e.Reason(); got != want+" ("+problem+")." {
			t.Errorf("%s: %q, want %q", problem, got, want)
		}
	}
}
