package form

import (
	"fmt"
	"time"
)

// TimestampLayout is the format of a time in JSON: ISO 8601, UTC, always with
// three decimals, so that the simplest parser can read it.
const TimestampLayout = "2006-01-02T15:04:05.000Z"

// A Timestamp is a time in JSON.
type Timestamp struct{ time.Time }

// At returns t as a Timestamp.
func At(t time.Time) Timestamp { return Timestamp{t} }

// AtOptional returns t as a Timestamp, nil for nil.
func AtOptional(t *time.Time) *Timestamp {
	if t == nil {
		return nil
	}
	return &Timestamp{*t}
}

// MarshalJSON writes the time in TimestampLayout.
func (t Timestamp) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(TimestampLayout) + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time.
func (t *Timestamp) UnmarshalJSON(b []byte) error {
	if err := t.Time.UnmarshalJSON(b); err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	return nil
}
