package domain

import (
	"slices"
	"strings"
	"time"
)

// Deliver asks Candor to email a new session's link (D103).
type Deliver struct {
	Remind     bool
	OneBrowser bool // the creator may not read answers (D92)
}

// A LinkDelivery is how Candor emails a session's link, and what became of it.
type LinkDelivery struct {
	SessionID  SessionID   `db:"session_id"`
	Remind     bool        `db:"remind"`
	OneBrowser bool        `db:"one_browser"`
	StoppedAt  *time.Time  `db:"stopped_at"` // when the customer wanted no more reminders
	Emails     []LinkEmail `db:"-"`          // the link's own first
}

// A LinkEmail is one of the emails that bring the customer to the form.
type LinkEmail struct {
	Kind         LinkEmailKind  `db:"kind"`
	State        LinkEmailState `db:"state"`
	Tries        int            `db:"tries"`
	FirstTriedAt *time.Time     `db:"first_tried_at"`
	EndedAt      *time.Time     `db:"ended_at"` // when it was sent, or given up
	Problem      string         `db:"problem"`  // a code that Reason words; "" for none
	Again        int            `db:"again"`    // how often it was sent again: by staff (D124), or after an extension
}

// A LinkEmailKind says which of the emails it is. A session has each reminder once at
// most, the last one for each time at which its link was to end.
type LinkEmailKind string

// The emails: the link itself, and the reminders (D104).
const (
	LinkItself      LinkEmailKind = "link"
	LinkUnopened1   LinkEmailKind = "unopened_1"
	LinkUnopened2   LinkEmailKind = "unopened_2"
	LinkUnfinished1 LinkEmailKind = "unfinished_1"
	LinkUnfinished2 LinkEmailKind = "unfinished_2"
	LinkEnding      LinkEmailKind = "ending"
)

// A LinkEmailState is how far an email has come (D105).
type LinkEmailState string

// The states.
const (
	LinkQueued  LinkEmailState = "queued"  // to be tried, or tried again
	LinkSending LinkEmailState = "sending" // the mail server gets the text
	LinkSent    LinkEmailState = "sent"
	LinkFailed  LinkEmailState = "failed"
	LinkNotSent LinkEmailState = "not_sent" // it was not to be
	LinkUnknown LinkEmailState = "unknown"  // the mail server got the text, and no answer came back
)

// Enum lists the states that the API shows. One that the mail server gets is still queued.
func (LinkEmailState) Enum() []string {
	return texts([]LinkEmailState{LinkQueued, LinkSent, LinkFailed, LinkNotSent, LinkUnknown})
}

// What keeps an email from being sent, besides what the mail server answers.
const (
	LinkProblemTestMode    = "test_mode"
	LinkProblemNotWanted   = "not_wanted"
	LinkProblemUnreachable = "unreachable"
	LinkProblemNoAddress   = "no_address"
)

// The times of D104 and D105.
const (
	// LinkEmailLease is after which time a lost job of an email is inserted again.
	LinkEmailLease = 10 * time.Minute
	// LiveLinksADay and TestLinksADay are how many links an account has emailed (D106).
	LiveLinksADay = 2000
	TestLinksADay = 200

	reminderPause    = 24 * time.Hour     // between two emails of a session
	endingAhead      = 2 * 24 * time.Hour // of the last reminder
	emailGivenUp     = 108 * time.Hour    // after the first try
	firstHourly      = 30 * time.Minute   // until the third try
	laterTries       = 3 * time.Hour      // from then on
	dayBegins        = 8                  // o'clock; no reminder comes before
	dayEnds          = 20                 // or from then on
	UntriedLinksADay = 20                 // of an account that isn't approved
)

// Reminders by when they are sent, the earlier first.
var (
	unopened   = []reminder{{LinkUnopened1, 2 * 24 * time.Hour}, {LinkUnopened2, 7 * 24 * time.Hour}}
	unfinished = []reminder{{LinkUnfinished1, 24 * time.Hour}, {LinkUnfinished2, 4 * 24 * time.Hour}}
)

type reminder struct {
	kind  LinkEmailKind
	after time.Duration
}

// LinksADay is how many links an account can have emailed in a UTC day and a mode (D106).
func (a *Account) LinksADay(livemode bool) int {
	switch {
	case livemode:
		return LiveLinksADay
	case a.ApprovedAt != nil:
		return TestLinksADay
	}
	return UntriedLinksADay
}

// ReminderSubject is what the token of the link "No more reminders" stands for.
func ReminderSubject(id SessionID) string { return id.String() + " reminders" }

// Email returns the email of that kind, nil for none yet.
func (d *LinkDelivery) Email(kind LinkEmailKind) *LinkEmail {
	for i := range d.Emails {
		if d.Emails[i].Kind == kind {
			return &d.Emails[i]
		}
	}
	return nil
}

// Latest returns the email that was tried last, or is to be tried now: after reminders the
// link's own, if staff sent it again (D124). A reminder that wasn't needed any more is none.
func (d *LinkDelivery) Latest() LinkEmail {
	latest := d.Emails[0]
	for _, e := range d.Emails[1:] {
		if e.Problem == LinkProblemNotWanted {
			continue
		}
		if latest.EndedAt != nil && (e.EndedAt == nil || e.EndedAt.After(*latest.EndedAt)) {
			latest = e
		}
	}
	return latest
}

// Sending returns the email that the mail server gets, nil for none.
func (d *LinkDelivery) Sending() *LinkEmail {
	for i := range d.Emails {
		if d.Emails[i].State == LinkSending {
			return &d.Emails[i]
		}
	}
	return nil
}

// Wanted reports whether the customer may still get emails about the session (D103, D104).
func (d *LinkDelivery) Wanted(s *Session, now time.Time) bool {
	return s.StatusAt(now).Open() && s.LinkVersion == 0
}

// LinkSends is how often the link was to be emailed, 0 without a delivery.
func (d *LinkDelivery) LinkSends() int {
	if d == nil {
		return 0
	}
	return 1 + d.Email(LinkItself).Again
}

// SentSince reports whether the link was emailed, or given up, at t or later.
func (d *LinkDelivery) SentSince(t time.Time) bool {
	if d == nil {
		return false
	}
	link := d.Email(LinkItself)
	return link.EndedAt != nil && !link.EndedAt.Before(t)
}

// MaySendLink reports whether staff can have the link emailed, for the first time or again:
// one that is being sent, or was renewed, can't be (D124).
func (d *LinkDelivery) MaySendLink(s *Session, now time.Time) bool {
	return d.Wanted(s, now) && (d == nil || d.Email(LinkItself).EndedAt != nil)
}

// Reminds reports whether a reminder may follow at some time.
func (d *LinkDelivery) Reminds(s *Session, now time.Time) bool {
	failed := func(e LinkEmail) bool {
		return e.State == LinkFailed || e.State == LinkNotSent && e.Problem != LinkProblemNotWanted
	}
	last := d.Email(LinkEnding)
	ended := last != nil && last.EndedAt != nil && !last.EndedAt.Before(s.ExpiresAt.Add(-endingAhead)) // not of a former end
	return d.Remind && d.StoppedAt == nil && d.Wanted(s, now) && !ended && !slices.ContainsFunc(d.Emails, failed)
}

// Next returns which email is due next, and when; "" for none that is known now.
func (d *LinkDelivery) Next(s *Session, now time.Time) (kind LinkEmailKind, at time.Time) {
	link := d.Email(LinkItself)
	if link != nil && link.State == LinkQueued && d.Wanted(s, now) {
		return LinkItself, now
	}
	if link == nil || link.EndedAt == nil || !d.Reminds(s, now) {
		return "", time.Time{}
	}
	series, since := unopened, *link.EndedAt
	if s.Status == InProgress && s.LastActivityAt != nil {
		series, since = unfinished, *s.LastActivityAt
	}
	for _, r := range slices.Backward(series) {
		if d.done(r.kind) {
			break // an earlier one would say less
		}
		if due := since.Add(r.after); kind == "" || at.After(now) {
			kind, at = r.kind, due
		}
	}
	if ending := s.ExpiresAt.Add(-endingAhead); kind == "" || at.After(ending) || !ending.After(now) {
		kind, at = LinkEnding, ending
	}
	if pause := d.lastEnded().Add(reminderPause); at.Before(pause) {
		at = pause
	}
	return kind, at
}

// Overtaken returns an email that waits for another try though what is due next is another,
// or none: the customer has begun, say, or completed the form, or the link was extended and its
// end is far again. Nil for none.
func (d *LinkDelivery) Overtaken(s *Session, now time.Time) *LinkEmail {
	next, at := d.Next(s, now)
	for i := range d.Emails {
		e := &d.Emails[i]
		if e.State == LinkQueued && (e.Kind != next || next == LinkEnding && at.After(now)) {
			return e
		}
	}
	return nil
}

// LookAt is when a worker looks again what is due, nil for never: in a day at the latest,
// because what the customer does in between moves it by a day at least.
func (d *LinkDelivery) LookAt(s *Session, now time.Time) *time.Time {
	look := now.Add(reminderPause)
	kind, at := d.Next(s, now)
	if kind == "" && !d.Reminds(s, now) {
		return nil
	}
	if kind != "" && at.Before(look) {
		look = at
	}
	return &look
}

func (d *LinkDelivery) done(kind LinkEmailKind) bool {
	e := d.Email(kind)
	return e != nil && e.EndedAt != nil
}

func (d *LinkDelivery) lastEnded() (last time.Time) {
	for _, e := range d.Emails {
		if e.EndedAt != nil && e.EndedAt.After(last) && e.Problem != LinkProblemNotWanted {
			last = *e.EndedAt
		}
	}
	return last
}

// RemindersSent is how many reminders were sent.
func (d *LinkDelivery) RemindersSent() (n int) {
	for _, e := range d.Emails {
		if e.Kind == LinkItself {
			continue
		}
		n += e.Again
		if e.State == LinkSent {
			n++
		}
	}
	return n
}

// SendAgain begins an email again that has ended.
func (e *LinkEmail) SendAgain() {
	again := e.Again
	if e.State != LinkNotSent {
		again++
	}
	*e = LinkEmail{Kind: e.Kind, State: LinkQueued, Again: again}
}

// End notes what became of the email.
func (e *LinkEmail) End(state LinkEmailState, problem string, now time.Time) {
	e.State, e.Problem, e.EndedAt = state, problem, &now
}

// Try notes that the email was tried.
func (e *LinkEmail) Try(now time.Time) {
	if e.Tries++; e.FirstTriedAt == nil {
		e.FirstTriedAt = &now
	}
}

// Retry notes that the mail server didn't take the email that was tried, and returns when
// it is tried again; if that is too late, it is given up.
func (e *LinkEmail) Retry(problem string, now time.Time) (at time.Time) {
	e.State, e.Problem = LinkQueued, problem
	at = now.Add(laterTries)
	if e.Tries < 3 {
		at = now.Add(firstHourly)
	}
	if at.After(e.FirstTriedAt.Add(emailGivenUp)) {
		e.End(LinkFailed, problem, now)
	}
	return at
}

// InDaytime returns the time, or if it is at night in the zone, the end of that night.
func InDaytime(t time.Time, zone *time.Location) time.Time {
	local := t.In(zone)
	day := local.Day()
	switch {
	case local.Hour() >= dayEnds:
		day++
	case local.Hour() >= dayBegins:
		return t
	}
	return time.Date(local.Year(), local.Month(), day, dayBegins, 0, 0, 0, zone).UTC()
}

// Reason says in words why the email wasn't sent, or not yet; "" for no reason.
func (e *LinkEmail) Reason() string {
	code, status, _ := strings.Cut(e.Problem, " ")
	switch {
	case e.Problem == "":
		return ""
	case e.Problem == LinkProblemTestMode:
		return "Test mode sends emails only to people of your own team."
	case e.Problem == LinkProblemNotWanted && e.Kind == LinkItself:
		return "The session had ended, or its link was renewed, before the email could be sent."
	case e.Problem == LinkProblemNotWanted:
		return "It wasn’t needed any more: the session had ended, the customer had begun or wanted no reminders, " +
			"or another email took its place."
	case e.Problem == LinkProblemUnreachable:
		return "The mail server could not be reached."
	case e.Problem == LinkProblemNoAddress:
		return "No mail server takes an address like this."
	case strings.HasPrefix(code, "4") && e.State == LinkFailed:
		return "The mail server did not take the email for 4½ days (" + e.Problem + ")."
	case strings.HasPrefix(code, "4"):
		return "The mail server asks to try again later (" + e.Problem + ")."
	case strings.HasSuffix(status, ".2.2") || code == "552" && !strings.HasPrefix(status, "5."):
		return "The customer’s mailbox is full (" + e.Problem + ")."
	case status == "5.1.7" || status == "5.1.8": // the sender's address
	case strings.HasPrefix(status, "5.1.") || status == "" && (code == "550" || code == "551" || code == "553"):
		return "The mail server says that this address doesn’t exist (" + e.Problem + ")."
	case strings.HasPrefix(status, "5.7."):
		return "The mail server refuses the email by its rules (" + e.Problem + ")."
	}
	return "The mail server refuses the email (" + e.Problem + ")."
}
