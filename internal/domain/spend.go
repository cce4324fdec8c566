package domain

import (
	"time"

	"candor/internal/statement"
)

// MaxSpendAlerts is how many alerts an account can have.
const MaxSpendAlerts = 3

// SpendLimits are what an account sets about what a billing period may cost, GST
// included, in cents (D68).
type SpendLimits struct {
	Cap    *statement.Cents  // no live session is created that costs something and goes beyond; nil for no cap
	Alerts []statement.Cents // at which the account gets an email, ascending
}

// A SpendNotice is an alert or a cap that a period has reached.
type SpendNotice struct {
	AccountID   AccountID       `db:"account_id"`
	PeriodStart time.Time       `db:"period_start"`
	Cap         bool            `db:"cap"` // the cap, else an alert
	Cents       statement.Cents `db:"cents"`
}

// A BilledSession is a live session as billing sees it, without its customer.
type BilledSession struct {
	ID          SessionID `db:"id"`
	ReferenceID *string   `db:"reference_id"`
	CreatedAt   time.Time `db:"created_at"`
}
