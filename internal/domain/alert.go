package domain

import "time"

// An Alert tells an account's developers by email that something needs them.
type Alert struct {
	ID        AlertID
	AccountID AccountID
	Livemode  bool
	Kind      AlertKind
	Subjects  []AlertSubject // at least one
	CreatedAt time.Time
}

// An AlertSubject is one endpoint or key of an alert. It has no URL's path or
// query, which can hold a receiver's secret.
type AlertSubject struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`             // an endpoint's origin; a key's name and last 4 characters
	Since  time.Time `json:"since"`            // when it began to fail, to succeed or to be used
	Detail string    `json:"detail,omitempty"` // the last attempt's status or class of error; a key's network
	Outage string    `json:"outage,omitempty"` // the endpoint's latest (D137); "" if it isn't known
}

// An AlertKind says what an alert is about.
type AlertKind string

// The kinds of alerts.
const (
	AlertEndpointFailing     AlertKind = "endpoint.failing"      // for an hour
	AlertEndpointFailingLong AlertKind = "endpoint.failing_long" // for three days
	AlertEndpointRecovered   AlertKind = "endpoint.recovered"    // after one of the others
	AlertKeyNetwork          AlertKind = "api_key.new_network"   // a key was used from one
)

const (
	// AlertEvery is the shortest time between two alerts of a kind in an account and
	// mode. What comes due in between is in the next one.
	AlertEvery = time.Hour
	// AlertRetention is how long alerts are kept: longer than their emails are
	// tried.
	AlertRetention = 30 * 24 * time.Hour
)

// AlertReaders is what a person must be able to open to get alerts.
const AlertReaders = ManageWebhooks

// AlertEmails is which alerts a person gets by email.
type AlertEmails struct {
	Webhooks bool `db:"webhook_emails"` // endpoints that fail and recover
	Keys     bool `db:"key_emails"`     // keys that are used from a new network
}

// Want reports whether the person wants alerts of the kind.
func (e AlertEmails) Want(kind AlertKind) bool {
	if kind == AlertKeyNetwork {
		return e.Keys
	}
	return e.Webhooks
}
