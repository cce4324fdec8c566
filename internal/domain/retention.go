package domain

import "time"

// A RetentionKind is something of its sessions that an account keeps for a
// number of times 24 hours after they end. It is also the setting's name, as it
// is stored and posted.
type RetentionKind string

// The kinds.
const (
	FileRetention        RetentionKind = "retention_days"   // PDF and documents of completed sessions
	UnsubmittedRetention RetentionKind = "unsubmitted_days" // all that was entered in expired and cancelled sessions (D50)
	AnswerRetention      RetentionKind = "answer_days"      // answers of completed sessions (D50); 0: until they are erased
)

// RetentionKinds lists the kinds.
var RetentionKinds = []RetentionKind{FileRetention, UnsubmittedRetention, AnswerRetention}

const (
	// MaxRetentionDays is the most that files, and what wasn't submitted, are kept.
	MaxRetentionDays = 90
	// MinAnswerDays is the least that answers are kept: no less than files.
	MinAnswerDays = MaxRetentionDays
	// MaxAnswerDays is 7 years with two leap days.
	MaxAnswerDays = 7*365 + 2
)

// Retention is MaxRetentionDays as a time.
const Retention = MaxRetentionDays * 24 * time.Hour

// Bounds are the fewest and the most days that the kind can be set to.
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

// DaysOf is where an account has its days of the kind.
func (k RetentionKind) DaysOf(a *Account) *int {
	switch k {
	case UnsubmittedRetention:
		return &a.UnsubmittedDays
	case AnswerRetention:
		return &a.AnswerDays
	}
	return &a.RetentionDays
}

// Retained reports whether the PDF and documents are still to be had at now,
// where they are kept for that long after completion.
func (s *Session) Retained(now time.Time, kept time.Duration) bool {
	return s.ErasedAt == nil && s.CompletedAt != nil && now.Before(s.CompletedAt.Add(kept))
}

// DataKeptUntil is when retention erases what was entered, by its account's
// settings. It is nil while the session is open at now, and if its answers are
// kept until they are erased.
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

// DataGone reports whether what was entered is erased, or retention is about to
// erase it.
func (s *Session) DataGone(a *Account, now time.Time) bool {
	until := s.DataKeptUntil(a, now)
	return s.DataErasedAt != nil || until != nil && !now.Before(*until)
}
