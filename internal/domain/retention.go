package domain

import "time"

// A RetentionKind is data that an account keeps for a number of days (24
// hours) after its sessions end. It is also the setting's name in the database
// and in forms.
type RetentionKind string

// The kinds.
const (
	FileRetention        RetentionKind = "retention_days"   // PDF and documents of completed sessions
	UnsubmittedRetention RetentionKind = "unsubmitted_days" // all that was entered in expired and cancelled sessions (D50)
	AnswerRetention      RetentionKind = "answer_days"      // answers of completed sessions (D50); 0: until they are erased on request
)

// RetentionKinds lists the kinds.
var RetentionKinds = []RetentionKind{FileRetention, UnsubmittedRetention, AnswerRetention}

const (
	// MaxRetentionDays is the most days for files, and for sessions that
	// weren't submitted.
	MaxRetentionDays = 90
	// MinAnswerDays is the fewest days for answers: no less than for files.
	MinAnswerDays = MaxRetentionDays
	// MaxAnswerDays is 7 years with two leap days.
	MaxAnswerDays = 7*365 + 2
)

// Retention is MaxRetentionDays as a duration.
const Retention = MaxRetentionDays * 24 * time.Hour

// Bounds returns the fewest and the most days of the kind.
func (k RetentionKind) Bounds() (least, most int) {
	if k == AnswerRetention {
		return MinAnswerDays, MaxAnswerDays
	}
	return 1, MaxRetentionDays
}

// Accepts reports whether the kind can be set to that many days.
func (k RetentionKind) Accepts(days int) bool {
	least, most := k.Bounds()
	return days >= least && days <= most || k == AnswerRetention && days == 0
}

// DaysOf returns the account's field for the kind.
func (k RetentionKind) DaysOf(a *Account) *int {
	switch k {
	case UnsubmittedRetention:
		return &a.UnsubmittedDays
	case AnswerRetention:
		return &a.AnswerDays
	}
	return &a.RetentionDays
}

// Retained reports whether PDF and documents are still there at now, if they
// are kept for that long after completion.
func (s *Session) Retained(now time.Time, kept time.Duration) bool {
	return s.ErasedAt == nil && s.CompletedAt != nil && now.Before(s.CompletedAt.Add(kept))
}

// DataKeptUntil returns when retention erases the answers, by the account's
// settings. It is nil while the session is open, and if answers are kept until
// they are erased on request.
func (s *Session) DataKeptUntil(a *Account, now time.Time) *time.Time {
	end, days := s.ExpiresAt, a.UnsubmittedDays
	switch s.StatusAt(now) {
	case Pending, InProgress:
		return nil
	case Completed:
		end, days = *s.CompletedAt, a.AnswerDays
	case Cancelled:
		if s.CancelledAt != nil {
			end = *s.CancelledAt
		}
	}
	if days == 0 {
		return nil
	}
	until := end.Add(time.Duration(days) * 24 * time.Hour)
	return &until
}

// DataGone reports whether the answers are erased, or due to be.
func (s *Session) DataGone(a *Account, now time.Time) bool {
	until := s.DataKeptUntil(a, now)
	return s.DataErasedAt != nil || until != nil && !now.Before(*until)
}
