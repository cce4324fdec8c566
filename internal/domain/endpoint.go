package domain

import (
	"database/sql/driver"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// MaxEndpoints is how many endpoints an account can set up in a mode (D109).
const MaxEndpoints = 20

// EndpointsMost is how many endpoints of an account and mode are listed, beside those that
// are set up or fail: sessions' own URLs can have any number of origins. If a list has
// more, there may be others.
const EndpointsMost = 500

// An Endpoint is where an account's webhooks of one mode go, with a queue and health of
// its own: one that was set up (D109), or one that stands for the URLs of sessions at an
// origin. Its health disables nothing (D40).
type Endpoint struct {
	ID          EndpointID `db:"id"`
	AccountID   AccountID  `db:"account_id"`
	Livemode    bool       `db:"livemode"`
	Origin      string     `db:"origin"`      // https://example.com:8443
	Default     bool       `db:"is_default"`  // it is the default URL, whose secret signs for URLs of sessions, too
	URL         *string    `db:"url"`         // nil if it isn't set up, or was deleted
	Description string     `db:"description"` // "" for none
	EventTypes  EventSet   `db:"event_types"` // that it gets; nil for all
	PausedAt    *time.Time `db:"paused_at"`   // nil unless it is paused (D110)
	DeletedAt   *time.Time `db:"deleted_at"`  // nil unless it was deleted (D111)

	ConsecutiveFailures int        `db:"consecutive_failures"`
	FailingSince        *time.Time `db:"failing_since"` // nil if the last attempt succeeded
	LastSuccessAt       *time.Time `db:"last_success_at"`
	LastFailureAt       *time.Time `db:"last_failure_at"`
	LastStatusCode      *int       `db:"last_status_code"`
	LastErrorClass      *string    `db:"last_error_class"`
	Gone                bool       `db:"gone"` // the last response was 410
	CreatedAt           time.Time  `db:"created_at"`
}

// Held reports whether nothing is sent to the endpoint: it is paused, or was deleted.
func (e *Endpoint) Held() bool { return e.PausedAt != nil || e.Deleted() }

// Deleted reports whether the endpoint was deleted. The default one is then as if it had
// never been set up, and can be again (D111).
func (e *Endpoint) Deleted() bool { return e.DeletedAt != nil || e.Default && e.URL == nil }

// SetURL gives the endpoint that URL, and its origin.
func (e *Endpoint) SetURL(url string) { e.URL, e.Origin = &url, Origin(url) }

// EventSet is a set of event types. nil is all of them.
type EventSet []EventType

// Value stores the set as an array of text.
func (s EventSet) Value() (driver.Value, error) {
	if s == nil {
		return nil, nil
	}
	return "{" + strings.Join(texts(s), ",") + "}", nil
}

// Scan reads a stored set.
func (s *EventSet) Scan(src any) error {
	*s = nil
	text, ok := src.([]byte)
	if src == nil {
		return nil
	}
	if !ok {
		return fmt.Errorf("scan event types: %T", src)
	}
	for one := range strings.SplitSeq(strings.Trim(string(text), "{}"), ",") {
		*s = append(*s, EventType(one))
	}
	return nil
}

// unusedAfter is longer than the longest pause of a schedule.
const unusedAfter = 7 * 24 * time.Hour

// Failing reports whether the endpoint's last attempts failed and it is still
// used. Only a success ends FailingSince, so it stays set at an address that was
// given up.
func (e *Endpoint) Failing(now time.Time) bool {
	return e.FailingSince != nil && !e.Held() && e.LastFailureAt != nil && now.Sub(*e.LastFailureAt) < unusedAfter
}

// Health says how an endpoint is, in one word.
type Health string

// The healths of endpoints.
const (
	HealthOK      Health = "ok"
	HealthFailing Health = "failing"
	HealthGone    Health = "gone"    // fails by 410
	HealthUnused  Health = "unused"  // failed, and was given up
	HealthUntried Health = "untried" // nothing was sent yet
	HealthPaused  Health = "paused"
	HealthDeleted Health = "deleted"
)

// Enum lists the healths that the API shows. It knows no deleted endpoints.
func (Health) Enum() []string {
	return texts([]Health{HealthOK, HealthFailing, HealthGone, HealthUnused, HealthUntried, HealthPaused})
}

// Health returns the endpoint's.
func (e *Endpoint) Health(now time.Time) Health {
	switch {
	case e.DeletedAt != nil:
		return HealthDeleted
	case e.PausedAt != nil:
		return HealthPaused
	case e.Failing(now) && e.Gone:
		return HealthGone
	case e.Failing(now):
		return HealthFailing
	case e.FailingSince != nil:
		return HealthUnused
	case e.LastSuccessAt != nil:
		return HealthOK
	}
	return HealthUntried
}

// Origin is the scheme, host and port of a webhook URL, in one spelling.
func Origin(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL // was checked when it was set
	}
	host := strings.ToLower(u.Host)
	switch u.Scheme {
	case "https":
		host = strings.TrimSuffix(host, ":443")
	case "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}

// An Outage is the time in which an endpoint didn't answer with 2xx, and the events that
// it kept from arriving: all from the first to the last that failed at least once (D137).
type Outage struct {
	ID            OutageID         `db:"id"`
	AccountID     AccountID        `db:"account_id"`
	Livemode      bool             `db:"livemode"`
	EndpointID    EndpointID       `db:"endpoint_id"`
	StartedAt     time.Time        `db:"started_at"` // the first failed attempt
	LastFailureAt time.Time        `db:"last_failure_at"`
	AnsweredAt    *time.Time       `db:"answered_at"`  // the first success since; nil until then
	ConfirmedAt   *time.Time       `db:"confirmed_at"` // the last of its events that arrived so far
	First         int64            `db:"first_sequence"`
	Last          int64            `db:"last_sequence"`
	Answers       map[string]int64 `db:"-"` // failed attempts by status, or by error class without one
}

// OutageCounts are an outage's deliveries by what became of them.
type OutageCounts struct {
	Deliveries int64 `db:"deliveries"` // to the endpoint, of events from the first to the last
	Waiting    int64 `db:"waiting"`
	GivenUp    int64 `db:"failed"`
	Cancelled  int64 `db:"cancelled"`
	Behind     int64 `db:"behind"` // newer ones that wait, too
	Oldest     int64 `db:"oldest"` // the number of the scope's oldest event that is still kept
}

// Confirmed are those that arrived.
func (c OutageCounts) Confirmed() int64 { return c.Deliveries - c.Waiting - c.GivenUp - c.Cancelled }

// Undelivered can still be sent.
func (c OutageCounts) Undelivered() int64 { return c.Waiting + c.GivenUp }
